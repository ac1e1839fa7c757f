/**
 * Loaded into the attacked server (`--import`): how long its event loop makes others wait, and how much of that is the
 * machine's doing, since the thread was ready and had no core, or waited for another thread that had none. On SIGUSR2 it
 * writes what was seen since the last time.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** What a request that arrives at any moment waits for the event loop. */
export interface LoopDelay {
  readonly p99Ms: number
  readonly maxMs: number
  /** The same without the time in which its thread was ready and had no core. */
  readonly ownP99Ms: number
  readonly ownMaxMs: number
  /** Of that, the time in which it worked. The rest are locks, other threads, the disk. */
  readonly workP99Ms: number
  readonly workMaxMs: number
}

const everyMs = 2
/** Nanoseconds that this thread has worked, and nanoseconds that it was ready and had no core. */
const schedulerFile = '/proc/self/schedstat'
const nsPerMs = 1e6

/** Zeros where the system has no figures. */
function threadTimes(): { workedMs: number; waitedMs: number } {
  try {
    const [worked, waited] = readFileSync(schedulerFile, 'latin1').split(' ').map(Number)
    return { workedMs: (worked ?? 0) / nsPerMs, waitedMs: (waited ?? 0) / nsPerMs }
  } catch {
    return { workedMs: 0, waitedMs: 0 }
  }
}

/** Whoever arrives in a gap waits for what is left of it. */
function waits(gapsMs: readonly number[], durationMs: number): [p99Ms: number, maxMs: number] {
  const max = gapsMs.reduce((most, gap) => Math.max(most, gap), 0)
  const longer = (waitMs: number): number =>
    gapsMs.reduce((sum, gap) => sum + Math.max(0, gap - waitMs), 0) / durationMs
  let [low, high] = [0, max]
  while (high - low > 0.1) {
    const middle = (low + high) / 2
    if (longer(middle) > 0.01) low = middle
    else high = middle
  }
  return [high, max]
}

interface Gap {
  readonly allMs: number
  readonly ownMs: number
  readonly workMs: number
}

function watch(file: string): void {
  let gaps: Gap[] = []
  let since = performance.now()
  let last = since
  let times = threadTimes()
  setInterval(() => {
    const now = performance.now()
    const timesAfter = threadTimes()
    const allMs = now - last - everyMs
    if (allMs > 1) {
      const ownMs = Math.max(0, allMs - (timesAfter.waitedMs - times.waitedMs))
      gaps.push({ allMs, ownMs, workMs: Math.min(ownMs, timesAfter.workedMs - times.workedMs) })
    }
    last = now
    times = timesAfter
  }, everyMs).unref()
  process.on('SIGUSR2', () => {
    const durationMs = performance.now() - since
    const waitsFor = (part: keyof Gap): [number, number] =>
      waits(
        gaps.map((gap) => gap[part]),
        durationMs,
      )
    const [p99Ms, maxMs] = waitsFor('allMs')
    const [ownP99Ms, ownMaxMs] = waitsFor('ownMs')
    const [workP99Ms, workMaxMs] = waitsFor('workMs')
    const delay: LoopDelay = { p99Ms, maxMs, ownP99Ms, ownMaxMs, workP99Ms, workMaxMs }
    writeFileSync(`${file}.new`, JSON.stringify(delay))
    renameSync(`${file}.new`, file)
    gaps = []
    since = performance.now()
    last = since
    times = threadTimes()
  })
}

const file = process.env['HOSTILE_LOOP_DELAY_FILE']
// Not in its threads, nor in the processes that it starts.
if (file !== undefined && isMainThread && process.argv[2] === 'serve') watch(file)
