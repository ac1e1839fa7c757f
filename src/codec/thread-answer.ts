/**
 * The one answer of a thread that was started for it, and an end to every wait for it.
 */
import type { Worker } from 'node:worker_threads'

/** How messages call what a thread does, such as `compares two bodies`. */
export interface ThreadWork {
  readonly does: string
  /** A bound, not an expectation. */
  readonly msMax: number
}

/** The first message of the thread. Rejects, with an `Error`, when it fails, ends without one, or takes too long. */
export function answerOfThread(thread: Worker, { does, msMax }: ThreadWork): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`the thread that ${does} took longer than ${msMax} ms`))
      void thread.terminate()
    }, msMax)
    thread.on('message', resolve)
    thread.on('error', (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      reject(new Error(`the thread that ${does} failed: ${reason}`, { cause }))
    })
    // After an answer or an error this says nothing new; without either it is the only sign.
    thread.on('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`the thread that ${does} ended with code ${code}`))
    })
  })
}
