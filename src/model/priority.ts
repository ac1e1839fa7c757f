/**
 * How eagerly the scheduler runs a child process: behind the service while it prepares, like the service when it serves.
 */
import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

/**
 * About a tenth of the share of an ordinary process. The lowest gets next to nothing: on a machine with eight threads at
 * work for each core, a swap took minutes with it.
 */
const behind = constants.priority.PRIORITY_BELOW_NORMAL

/** Right after its start, for threads inherit it: on Linux each has a priority of its own. */
export function lowerPriority(pid: number): void {
  try {
    // Never ahead of the service, which may have been started behind others itself.
    setPriority(pid, Math.max(behind, getPriority()))
  } catch {
    // A process that is gone, or a system that knows no priorities: then it competes.
  }
}

/** Gives every thread of a process the priority of this one. Throws where the system does not allow it. */
export function restorePriority(pid: number): void {
  const priority = getPriority()
  // Those that were started meanwhile by one that was still behind are behind too.
  const restored = new Set<number>()
  for (;;) {
    const left = threadsOf(pid).filter((thread) => !restored.has(thread))
    if (left.length === 0) return
    for (const thread of left) {
      restored.add(thread)
      try {
        setPriority(thread, priority)
      } catch (error) {
        if (thread === pid || !isGone(error)) throw error
      }
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'info' in error && (error.info as { code?: string }).code === 'ESRCH'
}

/**
 * Whether this process, lowered by its owner, may be given back the priority of `owner`. Linux lets a process lower
 * itself, but rise again only with CAP_SYS_NICE or a limit (RLIMIT_NICE) that says so.
 */
export function mayRise(owner: number): boolean {
  try {
    setPriority(getPriority(owner))
    return true
  } catch {
    return false
  }
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return [pid]
  }
}
