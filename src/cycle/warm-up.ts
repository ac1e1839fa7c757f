/**
 * Warm-up: for some thirty cycles after a start, which are hours at the usual cadence, a cycle would take longer, because
 * V8 has not compiled the code yet. So generated cycles run through the whole path, with a store in memory and a model of
 * constants. They reach neither the serving model, which invented posts could overload or crash, nor the log.
 */
import { type Log, nextTurn, silentLog, withRelease } from '../base/index.js'
import { bodyBufferBytes } from '../codec/index.js'
import { counterNames, cycleBoundaryMs, cycleIdOf, formatInstant, snapshotNames } from '../contract/index.js'
import { constantModel } from '../model/index.js'
import { createMemoryStore } from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { RequestBody } from './intake/index.js'

/** Enough for the optimising compiler. Each takes about as long as a real cycle of its size. */
const cycleCount = 30
const postCount = 300
const replacedCount = 20
const firstCycleMs = Date.UTC(2026, 0, 5)

/** Runs the cycles one after the other, until a real one arrives. Never rejects: it logs a failure. */
export async function warmUp(real: CycleService, parts: CycleServiceParts, log: Log): Promise<void> {
  const startedAt = performance.now()
  try {
    const model = constantModel()
    const store = createMemoryStore()
    const clock = (): number => firstCycleMs
    const service = await CycleService.open({ ...parts, store, model: () => model, clock, log: silentLog })
    const close = (): Promise<void> =>
      withRelease(
        () => service.close(),
        () => store.close(),
      )
    const cycles = await withRelease(() => runCycles(service, real), close)
    log.debug({ cycles, ms: Math.round(performance.now() - startedAt) }, 'warm-up finished')
  } catch (err) {
    log.warn({ err }, 'the warm-up failed; the first cycles will be slower')
  }
}

/** Returns their number: it stops when a real cycle has arrived. */
async function runCycles(service: CycleService, real: CycleService): Promise<number> {
  let cycles = 0
  for (; cycles < cycleCount && !real.isUsed; cycles++) {
    const json = bodyOf(cycleOf(cycles))
    await service.intake.submit(
      new RequestBody(json),
      firstCycleMs + cycles * cycleBoundaryMs,
      new StageClock(0),
    )
    await nextTurn()
  }
  return cycles
}

/** A body with the padding that the decoder needs. */
function bodyOf(cycle: object): Uint8Array {
  const text = JSON.stringify(cycle)
  const buffer = Buffer.alloc(bodyBufferBytes(Buffer.byteLength(text)))
  return buffer.subarray(0, buffer.write(text))
}

/** A cycle in which posts enter and as many of the oldest leave. */
function cycleOf(index: number): object {
  const cycleAtMs = firstCycleMs + index * cycleBoundaryMs
  const earlier = formatInstant(cycleAtMs - 1)
  const first = index * replacedCount
  const pending = postsFrom(first, postCount)
  const entering = index === 0 ? pending : pending.slice(-replacedCount)
  const leaving = index === 0 ? [] : postsFrom(first - replacedCount, replacedCount)
  const counters = (names: readonly string[], seed: number): object =>
    Object.fromEntries(names.map((name, i) => [name, (seed * (i + 7) + index) % 3000]))
  return {
    cycle_id: cycleIdOf(cycleAtMs),
    cycle_time: formatInstant(cycleAtMs),
    candidates: entering.map((post) => ({
      ...post,
      title: `새 글 ${post.post_no} 후기`,
      created_at: earlier,
      extracted_at: earlier,
      source: 'score',
      manual_flag: 0,
      images_in_post: post.post_no % 4,
      body_html: `<p>${'오늘 실시간 베스트 '.repeat(post.post_no % 40)}</p>`,
    })),
    engagement: pending.map((post) => ({
      ...post,
      observed_at: earlier,
      status: 'ok',
      ...counters(counterNames, post.post_no),
    })),
    candidate_scores: pending.map((post) => ({
      ...post,
      snapshot_at: earlier,
      ...counters(snapshotNames, post.post_no),
    })),
    removals: leaving.map((post) => ({ ...post, reason: 'aged_out', decided_at: earlier })),
  }
}

function postsFrom(first: number, count: number): { gall_id: string; post_no: number }[] {
  return Array.from({ length: count }, (_, i) => ({
    gall_id: `g${(first + i) % 20}`,
    post_no: first + i + 1,
  }))
}
