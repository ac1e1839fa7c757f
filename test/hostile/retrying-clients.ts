/**
 * Clients that respect Retry-After: a refused call is repeated after the number of seconds in `Retry-After`.
 */
import type { Reply, RawClient, RawRequest } from './raw-client.js'

const attemptsMax = 30

/** Starts calls at a constant rate for `seconds`. Resolves with the number of attempts of each. */
export async function sendAtRate(
  perSecond: number,
  seconds: number,
  one: () => Promise<Reply[]>,
): Promise<number[]> {
  const calls: Promise<Reply[]>[] = []
  const startedAt = performance.now()
  for (let elapsedS = 0; elapsedS < seconds; elapsedS = (performance.now() - startedAt) / 1000) {
    while (calls.length < elapsedS * perSecond) calls.push(one())
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return (await Promise.all(calls)).map((replies) => replies.length)
}

/** The responses to one call, in order; only the last is not 503. Rejects after too many attempts. */
export async function sendUntilAccepted(client: RawClient, request: RawRequest): Promise<Reply[]> {
  const replies: Reply[] = []
  while (replies.length < attemptsMax) {
    const reply = await client.send(request)
    replies.push(reply)
    if (reply.status !== 503) return replies
    if (reply.retryAfterS === null) throw new Error('a 503 without Retry-After')
    const { retryAfterS } = reply
    await new Promise((resolve) => setTimeout(resolve, retryAfterS * 1000))
  }
  throw new Error(`refused ${attemptsMax} times, although the client respected Retry-After`)
}
