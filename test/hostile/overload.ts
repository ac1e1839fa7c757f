/**
 * Overload on a real server: its peak rate, and its rate under three times that load, measured alternately, so that other
 * load of the machine affects both; reads run at the same time. Read `overload` first.
 */
import { closedLoop, openLoop, quantile, recovery, type Load } from './load.js'
import { RawClient, type Reply, type RawRequest } from './raw-client.js'
import { reading, type Traffic } from './traffic.js'
import type { ServerProcess } from '../harness/server.js'

export interface OverloadSize {
  readonly rounds: number
  readonly peakSeconds: number
  readonly overloadSeconds: number
  /** Of the peak. */
  readonly factor: number
}

export interface Round {
  /** Accepted calls per second in a closed loop: mean of the phases before and after. */
  readonly peak: number
  readonly offered: number
  /** Accepted calls per second under overload. */
  readonly goodput: number
  /** From the last call of the overload until a call is accepted in about its usual time. */
  readonly recoveredMs: number
}

export interface OverloadFigures {
  readonly name: string
  readonly rounds: readonly Round[]
  /** Under overload, of all rounds. */
  readonly accepted: readonly Reply[]
  readonly refused: readonly Reply[]
  /** Responses that are neither. */
  readonly others: readonly Reply[]
  readonly reads: readonly Reply[]
  readonly connections: number
  /** Requests of the traffic so far. */
  readonly sentCount: number
  readonly rssMib: { readonly before: number; readonly after: number }
}

/** Clients of the peak: one is served, the others wait, and none is refused. */
const peakClients = 4
const readEveryMs = 25
/** Before the first round, unmeasured. */
const warmUpSeconds = 2
/** Factor over the median at the peak up to which the time of a call counts as normal. */
const usualFactor = 3
const usualExtraMs = 20

/** `reads`: paths of read-only calls, made in turn under overload. */
export async function overload(
  server: ServerProcess,
  traffic: Traffic,
  size: OverloadSize,
  reads: readonly string[],
): Promise<OverloadFigures> {
  const client = new RawClient(server.port)
  let next = 0
  const one = (): Promise<Reply> => client.send(traffic.request(next++))
  try {
    for (const request of traffic.first) await expectAccepted(client, request)
    await closedLoop(peakClients, Math.min(warmUpSeconds, size.peakSeconds), one)
    const before = server.resources().rssMib
    const rounds: Round[] = []
    const replies: Reply[] = []
    const readReplies: Reply[] = []
    let peak = await closedLoop(peakClients, size.peakSeconds, one)
    for (let round = 0; round < size.rounds; round++) {
      const stop = readContinuously(client, server.key, reads, readReplies)
      const { load, ...figures } = await oneOverload(peak, size, one)
      await stop()
      peak = await closedLoop(peakClients, size.peakSeconds, one)
      rounds.push({ ...figures, peak: (figures.peak + peak.goodPerSecond) / 2 })
      replies.push(...load.replies)
    }
    return {
      name: traffic.name,
      rounds,
      accepted: replies.filter(isAccepted),
      refused: replies.filter(({ status }) => status === 503),
      others: replies.filter((reply) => !isAccepted(reply) && reply.status !== 503),
      reads: readReplies,
      connections: client.connectionCount,
      sentCount: next,
      rssMib: { before, after: server.resources().rssMib },
    }
  } finally {
    client.destroy()
  }
}

async function oneOverload(
  peak: Load,
  { overloadSeconds, factor }: OverloadSize,
  one: () => Promise<Reply>,
): Promise<Round & { load: Load }> {
  const normalMs =
    quantile(
      peak.replies.map(({ tookMs }) => tookMs),
      0.5,
    ) *
      usualFactor +
    usualExtraMs
  const offered = peak.goodPerSecond * factor
  let recoveredMs = 0
  const load = await openLoop(offered, overloadSeconds, one, async () => {
    recoveredMs = await recovery(one, normalMs)
  })
  return { peak: peak.goodPerSecond, offered, goodput: load.goodPerSecond, recoveredMs, load }
}

/** Reads until the returned function is called, which resolves after the last response. */
function readContinuously(
  client: RawClient,
  key: string,
  paths: readonly string[],
  replies: Reply[],
): () => Promise<void> {
  const underWay: Promise<unknown>[] = []
  const timer = setInterval(() => {
    const path = paths[underWay.length % paths.length]
    if (path === undefined) return
    underWay.push(client.send(reading(key, path)).then((reply) => replies.push(reply)))
  }, readEveryMs)
  return async () => {
    clearInterval(timer)
    await Promise.all(underWay)
  }
}

async function expectAccepted(client: RawClient, request: RawRequest): Promise<void> {
  const reply = await client.send(request)
  if (!isAccepted(reply)) throw new Error(`a first request got ${reply.status}`)
}

function isAccepted({ status }: Reply): boolean {
  return status >= 200 && status < 300
}
