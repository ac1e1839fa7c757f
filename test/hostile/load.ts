/**
 * Two kinds of load: a closed loop of clients that wait for a response before they send again, which shows the peak rate,
 * and an open loop of calls at a fixed rate, which causes overload.
 */
import type { Reply } from './raw-client.js'

export interface Load {
  readonly replies: readonly Reply[]
  readonly tookS: number
  /** Responses below 300 per second, during the load. */
  readonly goodPerSecond: number
}

const tickMs = 1

/** `clients` that send as soon as they receive a response. */
export async function closedLoop(
  clients: number,
  seconds: number,
  send: () => Promise<Reply>,
): Promise<Load> {
  const replies: Reply[] = []
  const startedAt = performance.now()
  const client = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1000) replies.push(await send())
  }
  await Promise.all(Array.from({ length: clients }, client))
  const tookS = (performance.now() - startedAt) / 1000
  return { replies, tookS, goodPerSecond: replies.filter(({ status }) => status < 300).length / tookS }
}

/** Calls at a fixed rate; `atEnd` runs when the last has been sent, before all responses have arrived. */
export async function openLoop(
  perSecond: number,
  seconds: number,
  send: () => Promise<Reply>,
  atEnd: () => Promise<void>,
): Promise<Load> {
  const replies: Promise<Reply>[] = []
  let goodInTime = 0
  let over = false
  const counted = async (): Promise<Reply> => {
    const reply = await send()
    if (reply.status > 0 && reply.status < 300 && !over) goodInTime++
    return reply
  }
  const startedAt = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedS = (performance.now() - startedAt) / 1000
      while (replies.length < Math.min(elapsedS, seconds) * perSecond) replies.push(counted())
      if (elapsedS < seconds) return
      clearInterval(timer)
      resolve()
    }, tickMs)
  })
  over = true
  const tookS = (performance.now() - startedAt) / 1000
  await atEnd()
  return { replies: await Promise.all(replies), tookS, goodPerSecond: goodInTime / tookS }
}

/** Milliseconds until a call is accepted within `normalMs`: until then, earlier calls are still in the queue. */
export async function recovery(send: () => Promise<Reply>, normalMs: number): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const { status, tookMs } = await send()
    const sinceMs = performance.now() - startedAt
    if ((status > 0 && status < 300 && tookMs < normalMs) || sinceMs > 60_000) return sinceMs
    if (status === 503) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The values need not be sorted; 0 without values. */
export function quantile(values: readonly number[], part: number): number {
  return [...values].sort((a, b) => a - b)[Math.max(0, Math.ceil(part * values.length) - 1)] ?? 0
}
