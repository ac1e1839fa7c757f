/**
 * The threads with which ONNX Runtime computes beside the one that runs a session. They sleep between runs and are
 * woken in the middle of one, where nobody of ours stands by, so they are kept off its processor before it begins.
 */
import { readFileSync } from 'node:fs'
import { loadFromAddon } from '../native.js'
import { threadsOf } from '../process-tree.js'

const addon = loadFromAddon('keepElsewhere')

export class SessionThreads {
  readonly #threads: Int32Array

  private constructor(threads: readonly number[]) {
    this.#threads = Int32Array.from(threads)
  }

  /** What `open` gives, and the threads that it starts: nothing else may start some meanwhile. */
  static async of<Session>(
    open: () => Promise<Session>,
  ): Promise<{ readonly session: Session; readonly threads: SessionThreads }> {
    const before = new Set(ownThreads())
    const session = await open()
    return { session, threads: new SessionThreads(ownThreads().filter((thread) => !before.has(thread))) }
  }

  /** Before a run: they do not wait for the processor that it takes, while another one is idle. */
  keepOff(): void {
    if (this.#threads.length > 0) addon?.keepElsewhere(this.#threads)
  }
}

/** But those of Node's pool, which may start at any time. */
function ownThreads(): number[] {
  return threadsOf(process.pid).filter((thread) => !nameOf(thread).startsWith('libuv'))
}

function nameOf(thread: number): string {
  try {
    return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8')
  } catch {
    return ''
  }
}
