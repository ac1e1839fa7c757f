/**
 * The directory of a spool: its lock and schema, how a cycle is written and read. A file that cannot be sent is renamed and
 * reported, so that it never blocks the cycles after it.
 */
import { closeSync, constants } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from '../base/errors.js'
import { LockedError, openLocked } from '../base/flock.js'
import { flushDirectory } from '../base/flush-directory.js'
import { isObject, parseJson } from '../base/json.js'
import { reasonOf } from './errors.js'

/** Names and contents of the files, as spool.ts lists them. */
const schema = 1
const schemaName = 'spool.json'
const cycleName = /^(\d{8}T\d{4})\.json$/
const partialName = /^\d{8}T\d{4}\.json\.partial$/
/** Errors that concern this process and not the file that it reads. */
const processCodes: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** Another spool, of this process or another one, has locked the directory. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError'

  constructor(path: string) {
    super(`the directory ${path} is in use by another spool`)
  }
}

/** Receives a message for the operator. */
export type Warn = (message: string) => void

export class SpoolDirectory {
  readonly #path: string
  readonly #warn: Warn
  readonly #lock: number | null

  private constructor(path: string, warn: Warn, lock: number | null) {
    this.#path = path
    this.#warn = warn
    this.#lock = lock
  }

  /** Opens a directory, which is created if it is missing, and locks it. Rejects with a `DirectoryLockedError` if another has. */
  static async open(directory: string, warn: Warn): Promise<SpoolDirectory> {
    const path = resolve(directory)
    const first = await mkdir(path, { recursive: true })
    // An earlier process may have ended between a rename and its flush.
    flushDirectories(path, first === undefined ? path : dirname(first), warn)
    const opened = new SpoolDirectory(path, warn, await lock(path, warn))
    try {
      await opened.#checkSchema()
      for (const name of await readdir(path))
        if (partialName.test(name)) await rm(join(path, name), { recursive: true })
    } catch (error) {
      opened.close()
      throw error
    }
    return opened
  }

  /** Unlocks the directory. */
  close(): void {
    if (this.#lock !== null) closeSync(this.#lock)
  }

  /** The ids of the cycles, the oldest first. */
  async cycleIds(): Promise<string[]> {
    const names = await readdir(this.#path)
    return names.flatMap((name) => cycleName.exec(name)?.[1] ?? []).sort()
  }

  /** The JSON text of a cycle. Null if there is none: what is in its place and is not this cycle is set aside. */
  async read(cycleId: string): Promise<string | null> {
    const name = nameOf(cycleId)
    const bytes = await readFile(join(this.#path, name)).catch((error: unknown) => {
      if (processCodes.has(codeOf(error))) throw error
      return error as Error
    })
    if (bytes instanceof Error && codeOf(bytes) === 'ENOENT') return null
    const problem =
      bytes instanceof Error ? `it cannot be read: ${reasonOf(bytes)}` : problemOf(bytes, cycleId)
    if (problem === null) return bytes.toString()
    const target = await this.#moveAway(name, 'set-aside')
    this.#warn(`${join(this.#path, name)} is not sent, because ${problem}; it is now ${target}`)
    return null
  }

  /** Resolves when the cycle survives a power cut. If it rejects, the file is there only if the last flush has failed. */
  write(cycleId: string, json: string): Promise<void> {
    return this.#writeFile(nameOf(cycleId), json)
  }

  flush(): void {
    flushDirectory(this.#path, this.#warn)
  }

  async remove(cycleId: string): Promise<void> {
    await rm(join(this.#path, nameOf(cycleId)), { force: true })
  }

  async reject(cycleId: string): Promise<void> {
    await this.#moveAway(nameOf(cycleId), 'rejected')
  }

  /** The directories of the first previews have this layout, and no file that says so. */
  async #checkSchema(): Promise<void> {
    const bytes = await readFile(join(this.#path, schemaName)).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return null
      throw error
    })
    if (bytes === null) {
      // A full disk has no room for it, and the cycles there must be sent all the same.
      await this.#writeFile(schemaName, `${JSON.stringify({ schema })}\n`).catch(() => undefined)
      return
    }
    const value = parseJson(bytes)
    const stored = isObject(value) ? value['schema'] : undefined
    const shown = stored === undefined ? 'unknown' : JSON.stringify(stored)
    if (stored !== schema)
      throw new Error(
        `the spool ${this.#path} has schema ${shown}, and this client reads ${schema}: ` +
          'deliver its cycles with the client that wrote them, or use another directory',
      )
  }

  async #writeFile(name: string, text: string): Promise<void> {
    const path = join(this.#path, name)
    const partial = `${path}.partial`
    try {
      const file = await open(partial, 'w', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(partial, path)
    } catch (error) {
      // On a full disk it would occupy the space that the next attempt needs.
      await rm(partial, { force: true }).catch(() => undefined)
      throw error
    }
    this.flush()
  }

  /** Renames a file to the first free name with this suffix, and returns it. */
  async #moveAway(name: string, suffix: string): Promise<string> {
    const names = new Set(await readdir(this.#path))
    let target = `${name}.${suffix}`
    for (let number = 2; names.has(target); number++) target = `${name}.${suffix}-${number}`
    await rename(join(this.#path, name), join(this.#path, target))
    return target
  }
}

/** The descriptor that holds the lock; null if locks do not work there. */
function lock(path: string, warn: Warn): Promise<number | null> {
  // The directory itself: it needs no file on a disk that may be full.
  return openLocked(path, constants.O_RDONLY | constants.O_DIRECTORY).catch((error: unknown) => {
    if (error instanceof LockedError) throw new DirectoryLockedError(path)
    warn(
      `the directory ${path} cannot be locked (${reasonOf(error)}): make sure that no other process uses it`,
    )
    return null
  })
}

/** Why a file is not this cycle, or null. */
function problemOf(bytes: Uint8Array, cycleId: string): string | null {
  const value = parseJson(bytes)
  if (value === undefined) return 'it is damaged: it is not JSON'
  const stored = isObject(value) ? value['cycle_id'] : undefined
  if (stored === cycleId) return null
  return typeof stored === 'string' ? `it contains cycle ${stored}` : 'it does not contain a cycle'
}

/** Throws a `TypeError` if it is no id: a name must not leave the directory. */
function nameOf(cycleId: string): string {
  const name = `${cycleId}.json`
  if (!cycleName.test(name))
    throw new TypeError(`a cycle_id is YYYYMMDDTHHMM, not ${JSON.stringify(cycleId)}`)
  return name
}

/** Flushes the entries of new directories: `deepest` and those above it, up to and including `top`. */
function flushDirectories(deepest: string, top: string, warn: Warn): void {
  for (let directory = deepest; ; directory = dirname(directory)) {
    flushDirectory(directory, warn)
    if (directory === top) return
  }
}
