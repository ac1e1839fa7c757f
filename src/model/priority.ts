/**
 * How eagerly the scheduler runs a child process: behind the service while it prepares, like the service when it serves.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { loadFromAddon } from './native.js'

/** About a tenth of the share of an ordinary process. */
const behind = constants.priority.PRIORITY_BELOW_NORMAL
/**
 * For so long a process that may come back runs only when a core has nothing else to do; it is then in nobody's way, and
 * who wakes up takes the core from it at once. A machine that is busy all the time has no such core: there a swap would
 * take minutes.
 */
const idleMsMax = 5000

const addon = loadFromAddon('runWhenIdle')

/**
 * A process that runs behind this one, and so does what it starts. To be made right after its start: threads inherit
 * it, and on Linux each has a priority of its own.
 */
export class ProcessBehind {
  /**
   * Whether it may be given the priority of this process. Linux lets a process fall behind, but rise again only with
   * CAP_SYS_NICE or a limit (RLIMIT_NICE) that says so.
   */
  readonly mayRise: boolean
  readonly #pid: number
  #timer: NodeJS.Timeout | undefined

  /**
   * `starved`: called when no core was idle for long and the process cannot come forward, so that it can be ended; without
   * it, one that may not rise gets a small share from the start.
   */
  constructor(pid: number, starved?: () => void) {
    this.#pid = pid
    const mayStep = mayStepForward(pid)
    const isIdle = (mayStep || starved !== undefined) && runWhenIdle(pid, true)
    this.mayRise = mayStep && (!isIdle || runWhenIdle(pid, false))
    if (!isIdle) {
      lower(pid)
      return
    }
    runWhenIdle(pid, true)
    const comeForward = this.mayRise ? () => this.#comeForward() : starved
    this.#timer = setTimeout(() => comeForward?.(), idleMsMax).unref()
  }

  /** Gives every thread of it the priority of this process. Throws where the system does not allow it. */
  rise(): void {
    this.leave()
    forThreads([this.#pid], (thread) => setOrdinary(thread, getPriority()))
  }

  /** Nothing more is done for it: it is gone, or will be. */
  leave(): void {
    clearTimeout(this.#timer)
  }

  /** No core was idle. It stays behind, but gets a share. */
  #comeForward(): void {
    try {
      forThreads(withDescendants(this.#pid), (thread) => setOrdinary(thread, lowered()))
    } catch {
      // It is gone.
    }
  }
}

function runWhenIdle(thread: number, idle: boolean): boolean {
  return addon?.runWhenIdle(thread, idle) === true
}

function lower(pid: number): void {
  try {
    setPriority(pid, lowered())
  } catch {
    // A process that is gone, or a system that knows no priorities: then it competes.
  }
}

/** Throws what the system says when it does not allow it, or when there is no such thread. */
function setOrdinary(thread: number, priority: number): void {
  const isOrdinary = addon === null || runWhenIdle(thread, false)
  setPriority(thread, priority)
  if (!isOrdinary) throw new Error('it runs only when a core is idle, and must go on so')
}

/** Never ahead of the service, which may have been started behind others itself. */
function lowered(): number {
  return Math.max(behind, getPriority())
}

/** Tried, with a step back before it. */
function mayStepForward(pid: number): boolean {
  const priority = getPriority()
  try {
    setPriority(pid, Math.min(priority + 1, constants.priority.PRIORITY_LOW))
    setPriority(pid, priority)
    return true
  } catch {
    return false
  }
}

/** Also those that are started meanwhile by one whose turn has not come. Throws what `change` throws of the first. */
function forThreads(pids: readonly number[], change: (thread: number) => void): void {
  const changed = new Set<number>()
  for (;;) {
    const left = pids.flatMap(threadsOf).filter((thread) => !changed.has(thread))
    if (left.length === 0) return
    for (const thread of left) {
      changed.add(thread)
      try {
        change(thread)
      } catch (error) {
        if (thread === pids[0] || !isGone(error)) throw error
      }
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'info' in error && (error.info as { code?: string }).code === 'ESRCH'
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return [pid]
  }
}

/** The process and all that it has started, and so on. */
function withDescendants(pid: number): number[] {
  return [pid, ...threadsOf(pid).flatMap((thread) => childrenOf(pid, thread).flatMap(withDescendants))]
}

function childrenOf(pid: number, thread: number): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
    return listed.split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}
