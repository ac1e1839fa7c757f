/**
 * A thread that stays for the next question: starting one takes a tenth of a second of a core, and a core is what others
 * want. It is started for the first question, answers one at a time, and ends when it fails, takes too long, or has had
 * nothing to do for long enough.
 */
import type { Transferable, Worker } from 'node:worker_threads'
import { answerOfThread, type ThreadWork } from './thread-answer.js'

export class KeptThread {
  readonly #start: () => Worker
  readonly #work: ThreadWork
  #thread: Worker | null = null
  #end: NodeJS.Timeout | undefined

  constructor(start: () => Worker, work: ThreadWork) {
    this.#start = start
    this.#work = work
  }

  /**
   * The thread's answer: its next message. One question at a time. Rejects as `answerOfThread` does, and with what
   * starting throws; the next question then finds a new thread.
   */
  async ask(question: unknown, transferred: readonly Transferable[]): Promise<unknown> {
    clearTimeout(this.#end)
    const thread = (this.#thread ??= this.#started())
    thread.ref()
    try {
      thread.postMessage(question, transferred)
      return await answerOfThread(thread, this.#work)
    } catch (error) {
      this.#forget(thread)
      void thread.terminate()
      throw error
    } finally {
      // Nothing to wait for: the process may end.
      thread.unref()
    }
  }

  /** Ends the thread when no question comes for so long. */
  restFor(ms: number): void {
    clearTimeout(this.#end)
    this.#end = setTimeout(() => this.end(), ms).unref()
  }

  /** Ends the thread, which must not be answering; a later question starts another. */
  end(): void {
    clearTimeout(this.#end)
    const thread = this.#thread
    this.#thread = null
    if (thread !== null) void thread.terminate()
  }

  #started(): Worker {
    const thread = this.#start()
    // It may fail while it rests, too.
    return thread.on('error', () => this.#forget(thread)).on('exit', () => this.#forget(thread))
  }

  #forget(thread: Worker): void {
    if (this.#thread === thread) this.#thread = null
  }
}
