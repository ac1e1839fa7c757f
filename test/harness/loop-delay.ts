/**
 * Loaded into a server (`--import`): measures the delay of its event loop, and how much of it the machine
 * causes: the thread was runnable without a core, or waited for another thread that was. On SIGUSR2 it
 * writes the delays since the last signal.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** The delay of the event loop for a request that arrives at a random moment. */
export interface LoopDelay {
  readonly p99Ms: number
  readonly maxMs: number
  /** The same without the time in which its thread was runnable without a core. */
  readonly ownP99Ms: number
  readonly ownMaxMs: number
  /** The part in which the thread computed. The rest is locks, other threads and the disk. */
  readonly workP99Ms: number
  readonly workMaxMs: number
}

const everyMs = 2
/** Nanoseconds for which this thread computed, and for which it was runnable without a core. */
const schedulerFile = '/proc/self/schedstat'
const nsPerMs = 1e6

/** Zeros if the system has no figures. */
function threadTimes(): { workedMs: number; waitedMs: number } {
  try {
    const [worked, waited] = readFileSync(schedulerFile, 'latin1').split(' ').map(Number)
    return { workedMs: (worked ?? 0) / nsPerMs, waitedMs: (waited ?? 0) / nsPerMs }
  } catch {
    return { workedMs: 0, waitedMs: 0 }
  }
}

/** A request that arrives in a gap waits for the rest of it. */
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

const file = process.env['LOOP_DELAY_FILE']
// Not in worker threads, and not in child processes.
if (file !== undefined && isMainThread && process.argv[2] === 'serve') watch(file)
