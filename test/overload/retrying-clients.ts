/**
 * Clients that respect Retry-After: a refused call is repeated after the number of seconds in `Retry-After`.
 */
import type { Answer, RawClient, RawRequest } from './raw-client.js'

const attemptsMax = 30

/** Starts calls at a constant rate for `seconds`. Resolves with the number of attempts of each. */
export async function sendAtRate(
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

/** The responses to one call, in order; only the last is not 503. Rejects after too many attempts. */
export async function sendUntilAccepted(client: RawClient, request: RawRequest): Promise<Answer[]> {
  const answers: Answer[] = []
  while (answers.length < attemptsMax) {
    const answer = await client.send(request)
    answers.push(answer)
    if (answer.status !== 503) return answers
    if (answer.retryAfterS === null) throw new Error('a 503 without Retry-After')
    const { retryAfterS } = answer
    await new Promise((resolve) => setTimeout(resolve, retryAfterS * 1000))
  }
  throw new Error(`refused ${attemptsMax} times, although the client respected Retry-After`)
}
