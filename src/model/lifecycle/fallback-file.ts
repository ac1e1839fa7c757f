/**
 * The fallback of a server in a file of its data directory: after a restart, the version that failed its cycles must not serve
 * again before `ACTIVE` is written.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fallback } from './machine.js'

export interface StoredFallback extends Fallback {
  /** Why the version failed its cycles, and when (milliseconds since 1970). */
  readonly problem: string
  readonly atMs: number
}

export class FallbackFile {
  readonly #file: string

  constructor(dataDir: string) {
    this.#file = join(dataDir, 'models-fallback.json')
  }

  /** null if there is none. One that cannot be read is none: then the version that `ACTIVE` names is tried again. */
  async read(): Promise<StoredFallback | null> {
    try {
      const stored = JSON.parse(await readFile(this.#file, 'utf8')) as Partial<StoredFallback> | null
      const { version, failed, stamp = null, problem = '', atMs = 0 } = stored ?? {}
      return version === undefined || failed === undefined ? null : { version, failed, stamp, problem, atMs }
    } catch {
      return null
    }
  }

  /** Replaces the file atomically, or removes it. One call at a time. */
  async save(fallback: StoredFallback | null): Promise<void> {
    if (fallback === null) {
      await rm(this.#file, { force: true })
      return
    }
    const partial = `${this.#file}.partial`
    // As in the file of states: a link of this name is not followed.
    await rm(partial, { force: true })
    await writeFile(partial, `${JSON.stringify(fallback)}\n`, { mode: 0o600, flag: 'wx' })
    await rename(partial, this.#file)
  }
}
