/** A post that is no longer pending, as the stored cycles have it. */
import type { Explanation } from '../../contract/index.js'
import { counted, dayClock, duration, integer, rank, score } from '../format.js'
import { t, word } from '../messages/index.js'
import { Tile } from '../parts/common.js'
import { CountersTile, Images, PostText } from './post-content.js'

interface LeftProps {
  readonly explanation: Explanation
}

export function LeftTiles({ explanation }: LeftProps) {
  const { candidate, last_reading: reading, visits, visit: index, cycles, images } = explanation
  const visit = visits[index]
  const scored = cycles.filter((cycle) => cycle.score !== null)
  const last = scored.at(-1)
  return (
    <div class="tiles">
      <Tile
        title={t.post.outcome}
        value={word(visit?.fate ?? 'unknown')}
        unit={visit?.tier}
        facts={[
          [t.post.decided, dayClock(visit?.decided_at ?? null)],
          [t.post.reported, dayClock(visit?.known_at ?? null)],
        ]}
      />
      <Tile
        title={t.post.lastScore}
        value={score(last?.score)}
        unit={last && t.units.rankOf(rank(last.rank), integer(last.scored))}
        facts={[[t.post.scoredIn, counted(scored.length, t.units.cycles)]]}
      />
      {reading !== null && (
        <CountersTile title={t.post.lastCounters} counters={reading} readAt={reading.observed_at} />
      )}
      {candidate !== null && (
        <Tile
          title={t.post.origin}
          value={word(candidate.source)}
          facts={[
            [t.post.written, dayClock(candidate.created_at)],
            [t.post.extracted, dayClock(candidate.extracted_at)],
            [t.post.pending, stay(candidate.extracted_at, visit?.decided_at ?? null)],
            [t.post.images, t.units.countOf(integer(images.length), integer(candidate.images_in_post))],
          ]}
        />
      )}
    </div>
  )
}

interface LeftContentProps extends LeftProps {
  readonly gallId: string
  readonly postNo: number
}

export function LeftContent({ gallId, postNo, explanation: { candidate, images } }: LeftContentProps) {
  return (
    <>
      {candidate === null && <p class="notice">{t.post.expired}</p>}
      <Images gallId={gallId} postNo={postNo} images={images} />
      <PostText html={candidate?.body_html ?? null} />
    </>
  )
}

/** The time between extraction and decision. */
function stay(from: string | null, to: string | null): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from))
}
