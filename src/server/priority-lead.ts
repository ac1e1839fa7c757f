/**
 * How far the service goes ahead of what else computes on its machine. It sleeps between cycles; while one is under way,
 * a program that keeps a processor busy would take half of that processor from it, and make each wake-up wait. Linux
 * counts nice within a session (where sched_autogroup_enabled is 1) and within a control group: between services of
 * systemd, their CPUWeight decides.
 */
import { constants, getPriority, setPriority } from 'node:os'

/**
 * Raises the thread that calls by `steps` of nice, or by as many as the system allows, and returns its priority then.
 * What is started from then on, threads and processes, has that priority too; threads that are there stay where they
 * are: those of V8, and those of the pool once it has begun, which decode pictures and commit. Elsewhere than
 * on Linux, where threads have no priorities of their own, nothing changes.
 */
export function takeLead(steps: number, set: (priority: number) => void = setOwn): number {
  const started = getPriority()
  if (process.platform !== 'linux') return started
  const highest = Math.max(started - steps, constants.priority.PRIORITY_HIGHEST)
  for (let priority = highest; priority < started; priority++) {
    try {
      set(priority)
      return priority
    } catch {
      // Neither CAP_SYS_NICE nor a limit (RLIMIT_NICE) that goes so far.
    }
  }
  return started
}

/** 0 stands for the thread that calls, as in setpriority(2). */
function setOwn(priority: number): void {
  setPriority(0, priority)
}
