/**
 * Clients that do as they are told: a call that is refused is made again after the seconds that `Retry-After` names.
 */
import type { Answer, RawClient, RawRequest } from './raw-client.js'

const triesMax = 30

/** Calls at even distances for so long, each made again as it is told until it is taken. Resolves with the tries of each. */
export async function heedingLoop(
  perSecond: number,
  seconds: number,
  one: () => Promise<Answer[]>,
): Promise<number[]> {
  const calls: Promise<Answer[]>[] = []
  const startedAt = performance.now()
  for (let elapsedS = 0; elapsedS < seconds; elapsedS = (performance.now() - startedAt) / 1000) {
    while (calls.length < elapsedS * perSecond) calls.push(one())
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return (await Promise.all(calls)).map((answers) => answers.length)
}

/** Answers to one call, in order; the last is the one that is not 503. Rejects when there is none after many tries. */
export async function callHeeding(client: RawClient, request: RawRequest): Promise<Answer[]> {
  const answers: Answer[] = []
  while (answers.length < triesMax) {
    const answer = await client.send(request)
    answers.push(answer)
    if (answer.status !== 503) return answers
    if (answer.retryAfterS === null) throw new Error('a 503 without Retry-After')
    const { retryAfterS } = answer
    await new Promise((resolve) => setTimeout(resolve, retryAfterS * 1000))
  }
  throw new Error(`refused ${triesMax} times, although each time it waited as told`)
}
