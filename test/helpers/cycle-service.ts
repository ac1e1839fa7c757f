/**
 * A service of cycles in the process of a test: its parts in memory, a clock that stands still, and calls of it.
 */
import { silentLog } from '../../src/base/index.js'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { RequestBody, StageClock, type CycleService, type CycleServiceParts } from '../../src/cycle/index.js'
import { createMemoryStore } from '../../src/store/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from './bodies.js'

/** The time of all calls. */
export const nowMs = cycleMs(1000)

export function serviceParts(over: Partial<CycleServiceParts> & Pick<CycleServiceParts, 'model'>) {
  return {
    store: createMemoryStore(),
    clock: () => nowMs,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    log: silentLog,
    ...over,
  } satisfies CycleServiceParts
}

/** Calls of the service that `service` returns at the time: a test may restart it. */
export function callsOf(service: () => CycleService) {
  const submitBytes = async (json: Uint8Array, gzip: Uint8Array | null = null, at = nowMs): Promise<string> =>
    Buffer.from(await service().intake.submit(new RequestBody(json, gzip), at, new StageClock(0))).toString()
  const submit = (body: CycleRequest, at = nowMs): Promise<string> => submitBytes(bytesOf(body), null, at)
  const responseTo = async (body: CycleRequest): Promise<CycleResponse> =>
    JSON.parse(await submit(body)) as CycleResponse
  return { submitBytes, submit, responseTo }
}

/** What the service refuses, as its client sees it. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ status: number; message: string; paths: string[] }> {
  try {
    await promise
  } catch (error) {
    const { status, message, fields } = error as {
      status: number
      message: string
      fields?: { path: string }[]
    }
    return { status, message, paths: fields?.map((field) => field.path) ?? [] }
  }
  throw new Error('was not refused')
}

/** Cycle `index`, in which the posts `entering` enter, each with its own title, and all of `scored` are read. */
export function titledCycle(
  index: number,
  entering: readonly number[],
  scored: readonly number[] = entering,
  over = {},
): CycleRequest {
  return cycleBody(index, {
    candidates: entering.map((post) => candidate('g', post, { title: titleOf(post), ...over })),
    engagement: scored.map((post) => reading('g', post, cycleMs(index))),
  })
}

export function titleOf(post: number): string {
  return `post ${post}`
}
