/**
 * An answer counts only if it is right: status, counts, and a score for every pending post.
 */
import type { CycleResponse } from '../src/contract/index.js'
import { sum } from './statistics.js'
import type { WorldCycle } from './world.js'

/** What tells a cycle apart from others, without its body. */
export type CycleFacts = Omit<WorldCycle, 'request'>

/** The response in an answer's bytes. Throws when it is none, or not the answer to its cycle. */
export function checkAnswer(cycle: CycleFacts, bytes: Buffer): CycleResponse {
  const response = JSON.parse(bytes.toString()) as CycleResponse
  checkResponse(cycle, response)
  return response
}

/** Throws when a response is not the answer to its cycle. */
export function checkResponse({ cycleId, counts }: CycleFacts, response: CycleResponse): void {
  const wanted: CycleResponse['counts'] = {
    ...counts,
    scored_now: counts.engagement,
    waiting: 0,
    not_scored: 0,
    results: counts.engagement,
  }
  const wrong = Object.entries(wanted).filter(
    ([name, count]) => response.counts[name as keyof typeof wanted] !== count,
  )
  const scored = sum(
    response.results.map(({ status, score }) => Number(status === 'scored' && typeof score === 'number')),
  )
  if (response.cycle_id !== cycleId || wrong.length > 0 || scored !== counts.engagement) {
    throw new Error(
      `cycle ${cycleId} was answered with ${JSON.stringify(response.counts)} and ${scored} scores; wanted ${JSON.stringify(wanted)}`,
    )
  }
}
