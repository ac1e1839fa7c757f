/**
 * How eagerly the scheduler runs a child process: behind the service while it prepares, like the service when it serves.
 */
import { constants, getPriority, setPriority } from 'node:os'
import { loadFromAddon } from './native.js'
import { threadsOf, withDescendants } from './process-tree.js'

/** About a tenth of the share of an ordinary process. */
const behind = constants.priority.PRIORITY_BELOW_NORMAL
/**
 * For so long a process that prepares runs only when a core has nothing else to do; it is then in nobody's way, and who
 * wakes up takes the core from it at once. A machine that is busy all the time has no such core: there a version would
 * take minutes to load, so after this time the process gets a share, or gives way to one that has a share.
 */
export const idleMsMax = 5000

const addon = loadFromAddon('runWhenIdle')

/** What the processes that load one version share: where one has waited in vain, the next do not wait at all. */
export interface IdleCores {
  /** No core was idle enough for a process to come to its end within `idleMsMax`. */
  areMissing: boolean
}

export interface BehindOptions {
  readonly cores?: IdleCores
  /**
   * Called when no core was idle for long and the process cannot come forward, so that it can be ended; without it, one
   * that may not rise gets a small share from the start.
   */
  readonly starved?: (() => void) | undefined
  /** Sets or ends it for a thread, and says whether the system allows it. For tests. */
  readonly runWhenIdle?: (thread: number, idle: boolean) => boolean
}

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
  readonly #runWhenIdle: (thread: number, idle: boolean) => boolean
  /** It runs only when a core is idle. */
  #isIdle = false
  #timer: NodeJS.Timeout | undefined

  constructor(pid: number, { cores, starved, runWhenIdle = runByAddon }: BehindOptions = {}) {
    this.#pid = pid
    this.#runWhenIdle = runWhenIdle
    const mayStep = mayStepForward(pid)
    // One that could not come back from there would wait for good, unless its owner ends it.
    const mayWait = mayStep || starved !== undefined
    if (cores?.areMissing !== true && mayWait) this.#isIdle = runWhenIdle(pid, true)
    this.mayRise = mayStep && (!this.#isIdle || runWhenIdle(pid, false))
    if (!this.#isIdle) {
      this.#lower()
      return
    }
    forThreads([pid], (thread) => runWhenIdle(thread, true))
    this.#timer = setTimeout(() => {
      if (cores !== undefined) cores.areMissing = true
      if (this.mayRise) this.#comeForward()
      else starved?.()
    }, idleMsMax).unref()
  }

  /** Gives every thread of it the priority of this process. Throws where the system does not allow it. */
  rise(): void {
    this.leave()
    this.#makeOrdinary([this.#pid], getPriority())
  }

  /** Nothing more is done for it: it is gone, or will be. */
  leave(): void {
    clearTimeout(this.#timer)
  }

  /** No core was idle. It stays behind, but gets a share. */
  #comeForward(): void {
    try {
      this.#makeOrdinary(withDescendants(this.#pid), lowered())
    } catch {
      // It is gone.
    }
  }

  #lower(): void {
    try {
      forThreads([this.#pid], (thread) => setPriority(thread, lowered()))
    } catch {
      // A process that is gone, or a system that knows no priorities: then it competes.
    }
  }

  /** Throws what the system says when it does not allow it, or when there is no such process. */
  #makeOrdinary(pids: readonly number[], priority: number): void {
    const wasIdle = this.#isIdle
    forThreads(pids, (thread) => {
      const isOrdinary = !wasIdle || this.#runWhenIdle(thread, false)
      setPriority(thread, priority)
      if (!isOrdinary) throw new Error('it runs only when a core is idle, and must go on so')
    })
    this.#isIdle = false
  }
}

function runByAddon(thread: number, idle: boolean): boolean {
  return addon?.runWhenIdle(thread, idle) === true
}

/** Never ahead of the service, which may have been started behind others itself. */
function lowered(): number {
  return Math.max(behind, getPriority())
}

/** Tried, with a step back before it. */
function mayStepForward(pid: number): boolean {
  const priority = getPriority()
  // There is no step back from here, so a try would show nothing; and to run only when a core is idle is one.
  if (priority >= constants.priority.PRIORITY_LOW) return false
  try {
    setPriority(pid, priority + 1)
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
