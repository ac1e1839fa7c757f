/**
 * What every child process of the service does first: leave its end to its owner, and go before the service where
 * memory is short.
 */
import { writeFileSync } from 'node:fs'

/** Of 1000: where the system is short of memory, it takes this process and not the service. */
const oomScoreAdjustment = 500

export function takeChildDuties(): void {
  // Ctrl-C and service managers signal whole groups: when this process ends is for the owner to say.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  try {
    writeFileSync('/proc/self/oom_score_adj', String(oomScoreAdjustment))
  } catch {
    // Linux only, and a sandbox may forbid it.
  }
}
