/**
 * Checks of responses: a response counts only if its counts are correct and every pending post has a score.
 */
import type { CycleResponse } from '../src/contract/index.js'
import { sum } from './statistics.js'
import type { WorldCycle } from '../test/harness/world.js'

/** A cycle without its body. */
export type CycleFacts = Omit<WorldCycle, 'request'>

/** Parses and checks a response. Throws if the bytes are not JSON or not the correct response to the cycle. */
export function parseResponse(cycle: CycleFacts, bytes: Buffer): CycleResponse {
  const response = JSON.parse(bytes.toString()) as CycleResponse
  checkResponse(cycle, response)
  return response
}

/** Throws if a response is not the correct response to its cycle. */
export function checkResponse({ cycleId, counts }: CycleFacts, response: CycleResponse): void {
  const expected: CycleResponse['counts'] = {
    ...counts,
    scored_now: counts.engagement,
    waiting: 0,
    not_scored: 0,
    results: counts.engagement,
  }
  const wrong = Object.entries(expected).filter(
    ([name, count]) => response.counts[name as keyof typeof expected] !== count,
  )
  const scored = sum(
    response.results.map(({ status, score }) => Number(status === 'scored' && typeof score === 'number')),
  )
  if (response.cycle_id !== cycleId || wrong.length > 0 || scored !== counts.engagement) {
    throw new Error(
      `wrong response to cycle ${cycleId}: ${JSON.stringify(response.counts)} and ${scored} scores; expected ${JSON.stringify(expected)}`,
    )
  }
}
