/** A post that is no longer pending, as the stored cycles have it. */
import type { Explanation } from '../../contract/index.js'
import { dayClock, duration, integer, score, humanize } from '../format.js'
import { Tile } from '../parts/common.js'
import { CountersTile, Images, PostText } from './post-content.js'

interface LeftPostProps {
  readonly gallId: string
  readonly postNo: number
  readonly explanation: Explanation
}

export function LeftPost({ gallId, postNo, explanation }: LeftPostProps) {
  const { candidate, last_reading: reading, visits, visit: index, cycles, images } = explanation
  const visit = visits[index]
  const scored = cycles.filter((cycle) => cycle.score !== null)
  const last = scored.at(-1)
  return (
    <>
      <div class="tiles">
        <Tile
          title="Outcome"
          value={humanize(visit?.fate ?? 'unknown')}
          unit={visit?.tier}
          facts={[
            ['Decided', dayClock(visit?.decided_at ?? null)],
            ['Reported', dayClock(visit?.known_at ?? null)],
          ]}
        />
        <Tile
          title="Last score"
          value={score(last?.score)}
          unit={last && `rank ${integer(last.rank)} of ${integer(last.scored)}`}
          facts={[['Scored in', `${integer(scored.length)} cycles`]]}
        />
        {reading !== null && (
          <CountersTile title="Last counters" counters={reading} readAt={reading.observed_at} />
        )}
        {candidate !== null && (
          <Tile
            title="Origin"
            value={candidate.source}
            facts={[
              ['Written', dayClock(candidate.created_at)],
              ['Extracted', dayClock(candidate.extracted_at)],
              ['Pending', stay(candidate.extracted_at, visit?.decided_at ?? null)],
              ['Images', `${integer(images.length)} of ${integer(candidate.images_in_post)}`],
            ]}
          />
        )}
      </div>
      {candidate === null && (
        <p class="notice">Title and text of this post expired with the cycle in which it arrived.</p>
      )}
      <Images gallId={gallId} postNo={postNo} images={images} />
      <PostText html={candidate?.body_html ?? null} />
    </>
  )
}

/** From the extraction to the decision. */
function stay(from: string | null, to: string | null): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from))
}
