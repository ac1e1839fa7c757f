/**
 * The answer of a thread that was asked one thing, and an end to every wait for it.
 */
import type { Worker } from 'node:worker_threads'

/** How messages call what a thread does, such as `compares two bodies`. */
export interface ThreadWork {
  readonly does: string
  /** A bound, not an expectation. */
  readonly msMax: number
}

/** The next message of the thread. Rejects, with an `Error`, when it fails, ends without one, or takes too long. */
export function answerOfThread(thread: Worker, { does, msMax }: ThreadWork): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void): void => {
      clearTimeout(timer)
      thread.off('message', answered).off('error', failed).off('exit', ended)
      then()
    }
    const refuse = (reason: string, options?: ErrorOptions): void =>
      settle(() => reject(new Error(`the thread that ${does} ${reason}`, options)))
    const answered = (answer: unknown): void => settle(() => resolve(answer))
    const failed = (cause: unknown): void =>
      refuse(`failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    const ended = (code: number): void => refuse(`ended with code ${code}`)
    const timer = setTimeout(() => {
      refuse(`took longer than ${msMax} ms`)
      void thread.terminate()
    }, msMax)
    thread.on('message', answered).on('error', failed).on('exit', ended)
    // What fails after its answer says nothing new; but an error that nobody hears would end the process.
    if (!thread.listeners('error').includes(ignore)) thread.on('error', ignore)
  })
}

const ignore = (): void => undefined
