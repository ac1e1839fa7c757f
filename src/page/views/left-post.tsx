/** A post that is not pending any more, as the stored cycles have it. */
import type { Explanation } from '../service/history.js'
import { dayClock, duration, integer, score, words } from '../format.js'
import { Tile } from '../parts/common.js'
import { Pictures, PostText } from './post-content.js'

interface LeftPostProps {
  readonly gallId: string
  readonly postNo: number
  readonly explanation: Explanation
}

/** Of the SHA-256, as the addresses of images have it. */
const hashChars = 16

export function LeftPost({ gallId, postNo, explanation }: LeftPostProps) {
  const { candidate, last_reading: reading, visits, visit: index, cycles } = explanation
  const visit = visits[index]
  const scored = cycles.findLast((cycle) => cycle.score !== null)
  const images = explanation.images.map(({ position, sha256 }) => ({
    position,
    sha256: sha256.slice(0, hashChars),
  }))
  return (
    <>
      <div class="tiles">
        <Tile
          title="Outcome"
          value={words(visit?.fate ?? 'unknown')}
          {...(visit?.tier ? { unit: visit.tier } : {})}
          facts={[
            ['Decided', dayClock(visit?.decided_at ?? null)],
            ['Reported', dayClock(visit?.known_at ?? null)],
          ]}
        />
        <Tile
          title="Last score"
          value={score(scored?.score)}
          {...(scored === undefined
            ? {}
            : { unit: `rank ${integer(scored.rank)} of ${integer(scored.scored)}` })}
          facts={[['Scored in', `${integer(cycles.filter((cycle) => cycle.score !== null).length)} cycles`]]}
        />
        {reading !== null && (
          <Tile
            title="Last counters"
            value={integer(reading.views)}
            unit="views"
            facts={[
              ['Up', integer(reading.up)],
              ['Down', integer(reading.down)],
              ['Comments', integer(reading.comment_cnt)],
              ['Send-to-Best', integer(reading.rtb_vote)],
              ['Read', dayClock(reading.observed_at)],
            ]}
          />
        )}
        {candidate !== null && (
          <Tile
            title="Origin"
            value={candidate.source}
            facts={[
              ['Written', dayClock(candidate.created_at)],
              ['Extracted', dayClock(candidate.extracted_at)],
              ['Pending', stay(candidate.extracted_at, visit?.decided_at ?? null)],
              ['Pictures', `${integer(images.length)} of ${integer(candidate.images_in_post)}`],
            ]}
          />
        )}
      </div>
      {candidate === null && (
        <p class="notice">Title and text of this post have expired with the cycle that brought it.</p>
      )}
      <Pictures gallId={gallId} postNo={postNo} images={images} />
      <PostText html={candidate?.body_html ?? null} />
    </>
  )
}

/** From the extraction to the decision. */
function stay(from: string | null, to: string | null): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from))
}
