/**
 * A child process that answers one question and ends: which ports a graph has, whether a version passes its checks.
 */
import { ModelDownError } from '../model.js'
import type { ReadyHeader } from './protocol.js'
import { SessionProcess, type ProcessOptions } from './session-process.js'

/**
 * The `ready` message of the process. Rejects with a `ModelError` when the process fails or cannot be started, or when
 * `signal` aborts; then the process is gone.
 */
export async function askProcess(options: ProcessOptions, signal?: AbortSignal): Promise<ReadyHeader> {
  throwIfCancelled(signal)
  const process = new SessionProcess(options)
  const cancel = (): void => void process.stop()
  signal?.addEventListener('abort', cancel)
  try {
    return await process.open()
  } catch (error) {
    throwIfCancelled(signal)
    throw error
  } finally {
    signal?.removeEventListener('abort', cancel)
    await process.stop()
  }
}

export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new ModelDownError('the load was cancelled')
}
