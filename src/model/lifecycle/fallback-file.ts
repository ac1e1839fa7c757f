/**
 * The fallback of a server in a file of its data directory: after a restart, the version that failed its cycles must not be the
 * first that serves.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fallback } from './machine.js'
import { replaceFile } from './status-file.js'

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
      const { version, failed, stamp = null, isTriedAgain = false, problem = '', atMs = 0 } = stored ?? {}
      if (version === undefined || failed === undefined) return null
      return { version, failed, cause: 'cycles', stamp, isTriedAgain, problem, atMs }
    } catch {
      return null
    }
  }

  /** Replaces the file atomically, or removes it. One call at a time. */
  async save(fallback: StoredFallback | null): Promise<void> {
    if (fallback === null) await rm(this.#file, { force: true })
    else await replaceFile(this.#file, `${JSON.stringify(fallback)}\n`)
  }
}
