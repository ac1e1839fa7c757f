/**
 * What no other code has handled: an exception, or the rejection of a promise. The state in memory may be wrong then, so
 * the process ends, on purpose and with a line in the log, and its service manager starts it again. What was acknowledged
 * is on disk.
 */
import { endProcess } from '../base/index.js'
import { exitCode } from './failure.js'

/** `report` must write before it returns. */
export function endOnUnexpectedError(report: (error: unknown) => void): void {
  const end = (error: unknown): never => {
    try {
      report(error)
    } finally {
      endProcess(exitCode.failure)
    }
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}
