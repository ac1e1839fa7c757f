/**
 * Overload on a real server: its peak rate, and its rate under three times that load, measured alternately, so that other
 * load of the machine affects both; reads run at the same time. Read `overload` first.
 */
import type { Target } from '../hostile/target.js'
import { closedLoop, openLoop, quantile, recovery, type Load } from './load.js'
import { RawClient, type Answer, type RawRequest } from './raw-client.js'
import { reading, type Traffic } from './traffic.js'

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
  readonly accepted: readonly Answer[]
  readonly refused: readonly Answer[]
  /** Responses that are neither. */
  readonly others: readonly Answer[]
  readonly reads: readonly Answer[]
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
  target: Target,
  traffic: Traffic,
  size: OverloadSize,
  reads: readonly string[],
): Promise<OverloadFigures> {
  const client = new RawClient(target.port)
  let next = 0
  const one = (): Promise<Answer> => client.send(traffic.request(next++))
  try {
    for (const request of traffic.first) await mustBeTaken(client, request)
    await closedLoop(peakClients, Math.min(warmUpSeconds, size.peakSeconds), one)
    const before = target.resources().rssMib
    const rounds: Round[] = []
    const answers: Answer[] = []
    const readAnswers: Answer[] = []
    let peak = await closedLoop(peakClients, size.peakSeconds, one)
    for (let round = 0; round < size.rounds; round++) {
      const stop = readContinuously(client, target.server.key, reads, readAnswers)
      const { load, ...figures } = await oneOverload(peak, size, one)
      await stop()
      peak = await closedLoop(peakClients, size.peakSeconds, one)
      rounds.push({ ...figures, peak: (figures.peak + peak.goodPerSecond) / 2 })
      answers.push(...load.answers)
    }
    return {
      name: traffic.name,
      rounds,
      accepted: answers.filter(isAccepted),
      refused: answers.filter(({ status }) => status === 503),
      others: answers.filter((answer) => !isAccepted(answer) && answer.status !== 503),
      reads: readAnswers,
      connections: client.connectionCount,
      sentCount: next,
      rssMib: { before, after: target.resources().rssMib },
    }
  } finally {
    client.destroy()
  }
}

async function oneOverload(
  peak: Load,
  { overloadSeconds, factor }: OverloadSize,
  one: () => Promise<Answer>,
): Promise<Round & { load: Load }> {
  const normalMs =
    quantile(
      peak.answers.map(({ tookMs }) => tookMs),
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
  answers: Answer[],
): () => Promise<void> {
  const underWay: Promise<unknown>[] = []
  const timer = setInterval(() => {
    const path = paths[underWay.length % paths.length]
    if (path === undefined) return
    underWay.push(client.send(reading(key, path)).then((answer) => answers.push(answer)))
  }, readEveryMs)
  return async () => {
    clearInterval(timer)
    await Promise.all(underWay)
  }
}

async function mustBeTaken(client: RawClient, request: RawRequest): Promise<void> {
  const answer = await client.send(request)
  if (!isAccepted(answer)) throw new Error(`a first request was answered ${answer.status}`)
}

function isAccepted({ status }: Answer): boolean {
  return status >= 200 && status < 300
}
