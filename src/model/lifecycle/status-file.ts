/**
 * The states of a server's model versions in a file of its data directory, for commands, which are other processes. The
 * server touches the file once a second, so a file that is older belongs to a server that has ended.
 */
import { lutimes, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../../base/index.js'
import type { VersionRole } from '../../contract/index.js'
import type { Placement } from '../sessions/placement.js'
import type { Entry, Fallback } from './machine.js'

const statusName = 'models-status.json'
/** Several times the interval at which the server touches the file. */
const ageMsMax = 10_000

export interface LifecycleStatus {
  /** Every version that is named or in use. */
  readonly versions: readonly (Pick<Entry, 'version' | 'role' | 'state'> & {
    /** How its files on disk differ from those that the server has loaded. Absent: they do not. */
    readonly changed?: string
    /** Where its graphs run that its first provider does not run as a whole. Absent: none. */
    readonly placements?: readonly Placement[]
  })[]
  /** The version that serves instead of another one. Absent: none does. */
  readonly fallback?: Pick<Fallback, 'version' | 'failed' | 'cause'>
  /** The last failure, to load or to score, of each version that has one: until it has loaded, or is no longer named. */
  readonly failures: readonly VersionFailure[]
}

export interface VersionFailure {
  readonly version: string
  readonly role: VersionRole
  readonly problem: string
  /** It failed as many consecutive cycles as are allowed. Absent: it could not be loaded. */
  readonly kind?: 'cycles'
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/** What the file says. */
export interface ServerModels extends LifecycleStatus {
  /** The absolute path of the models directory, as the server knows it. */
  readonly modelsDir: string
}

/** The file as its server writes it. */
export class StatusFile {
  readonly #file: string
  readonly #modelsDir: string
  #written = ''

  constructor(dataDir: string, modelsDir: string) {
    this.#file = join(dataDir, statusName)
    this.#modelsDir = resolve(modelsDir)
  }

  /** Replaces the file atomically, or touches it if nothing has changed. One call at a time. */
  async write(status: LifecycleStatus): Promise<void> {
    const text = `${JSON.stringify({ modelsDir: this.#modelsDir, ...status } satisfies ServerModels)}\n`
    const isWritten = text === this.#written
    // Until this succeeds: a file that somebody has deleted is written again.
    this.#written = ''
    const now = new Date()
    if (isWritten) await lutimes(this.#file, now, now)
    else await replaceFile(this.#file, text)
    this.#written = text
  }

  async remove(): Promise<void> {
    await rm(this.#file, { force: true })
  }
}

/** Replaces a file atomically. One call for a file at a time. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const partial = `${file}.partial`
  // Root may run the server in a directory of another user: a link of this name is not followed.
  await rm(partial, { force: true })
  try {
    await writeFile(partial, text, { mode: 0o600, flag: 'wx' })
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** null: no server uses the data directory. Rejects if the file cannot be read. */
export async function readStatus(dataDir: string): Promise<ServerModels | null> {
  const file = join(dataDir, statusName)
  try {
    const { mtimeMs } = await stat(file)
    if (Date.now() - mtimeMs > ageMsMax) return null
    return JSON.parse(await readFile(file, 'utf8')) as ServerModels
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return null
    throw error
  }
}
