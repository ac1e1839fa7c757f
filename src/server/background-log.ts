/**
 * Logs the failures of work that nobody waits for.
 */
import { backgroundFailureChannel, type BackgroundFailure, type Log } from '../base/index.js'

/** Returns a function that ends it. */
export function logBackgroundFailures(log: Log): () => void {
  const onFailure = (message: unknown): void => {
    const { name, error } = message as BackgroundFailure
    log.error({ err: error, work: name }, 'background work failed')
  }
  backgroundFailureChannel.subscribe(onFailure)
  return () => {
    backgroundFailureChannel.unsubscribe(onFailure)
  }
}
