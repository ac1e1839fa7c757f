/**
 * A child process as its owner sees it, however it was started: what it says, what it prints, and its end. All of its
 * streams must be read, by `resume` at least: the end of one that nobody reads is not heard of, nor that of the process.
 */
import type { Duplex, Readable } from 'node:stream'

export interface StartedProcess {
  /** undefined: it could not be started; `ended` says why, and there are no streams. */
  readonly pid: number | undefined
  /** What it prints: standard output and standard error. */
  readonly outputs: readonly Readable[]
  /** Its `messageDescriptor`. */
  readonly messages: Duplex | null
  /** By SIGKILL. */
  kill(): void
  /** Resolves when the process is no more. What it said last may still have to be read. */
  readonly gone: Promise<void>
  /** Resolves when it is gone and all that it said was read: how that came about, such as `ended with code 7`. */
  readonly ended: Promise<string>
}

/** How a process ended that has ended by itself, or by a signal. */
export function endOf(code: number | null, signal: string | null): string {
  return signal === null ? `ended with code ${code}` : `was ended by ${signal}`
}
