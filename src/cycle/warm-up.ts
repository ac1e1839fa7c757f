/**
 * Warm-up: the first cycles after a start would take several times as long, because V8 has not compiled the code yet. So
 * generated cycles run through the whole path on a temporary store in memory.
 */
import { bodyBufferBytes } from '../codec/index.js'
import { counterNames, cycleBoundaryMs, cycleIdOf, formatInstant, snapshotNames } from '../contract/index.js'
import { createMemoryStore } from '../store/index.js'
import { CycleService, type CycleServiceParts } from './service.js'
import { StageClock } from './stage-clock.js'
import { nextTurn } from './next-turn.js'

/** Enough for V8's optimising compiler. Each takes about as long as a real cycle of its size. */
const cycleCount = 30
const postCount = 1000
const replacedCount = 50
const firstCycleMs = Date.UTC(2026, 0, 5)
const minuteMs = 60_000

/** Runs the cycles one after the other. Stops early when `ended` returns true, as it should at the first real cycle. */
export async function warmUp(parts: CycleServiceParts, ended: () => boolean): Promise<void> {
  const store = createMemoryStore()
  const service = await CycleService.open({ ...parts, store, clock: () => firstCycleMs })
  for (let index = 0; index < cycleCount; index++) {
    await nextTurn()
    if (ended()) break
    const nowMs = firstCycleMs + index * cycleBoundaryMs
    await service.submit({ json: body(index), gzip: null }, nowMs, new StageClock(performance.now()))
  }
  await service.close()
  await store.close()
}

/** A body in a buffer with the padding that the decoder needs, as the server provides it. */
function body(index: number): Uint8Array {
  const text = JSON.stringify(cycle(index))
  const buffer = Buffer.alloc(bodyBufferBytes(Buffer.byteLength(text)))
  return buffer.subarray(0, buffer.write(text))
}

/** With each cycle, posts enter and as many of the oldest leave. */
function cycle(index: number): object {
  const cycleAtMs = firstCycleMs + index * cycleBoundaryMs
  const first = Math.max(0, index - 1) * replacedCount
  const entering = index === 0 ? numbers(0, postCount) : numbers(first + postCount, replacedCount)
  const pending = numbers(index * replacedCount, postCount)
  const earlier = formatInstant(cycleAtMs - 2 * minuteMs)
  return {
    cycle_id: cycleIdOf(cycleAtMs),
    cycle_time: formatInstant(cycleAtMs),
    candidates: entering.map((post) => ({
      ...key(post),
      title: `새 글 ${post} 후기 질문 ㅋㅋ`,
      created_at: formatInstant(cycleAtMs - 9 * minuteMs),
      extracted_at: earlier,
      source: 'score',
      manual_flag: 0,
      images_in_post: post % 4,
      body_html: `<p>${'오늘 실시간 베스트 '.repeat(post % 40)}</p>`,
    })),
    engagement: pending.map((post) => ({
      ...key(post),
      observed_at: earlier,
      status: 'ok',
      ...counters(counterNames, post + index),
    })),
    candidate_scores: pending.map((post) => ({
      ...key(post),
      snapshot_at: earlier,
      ...counters(snapshotNames, post + index),
    })),
    removals:
      index === 0
        ? []
        : numbers(first, replacedCount).map((post) => ({
            ...key(post),
            reason: 'aged_out',
            decided_at: earlier,
          })),
  }
}

function key(post: number): object {
  return { gall_id: `gallery${post % 20}`, post_no: 1_000_000 + post }
}

function counters(names: readonly string[], seed: number): object {
  return Object.fromEntries(names.map((name, i) => [name, (seed * (i + 7)) % 3000]))
}

function numbers(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i)
}
