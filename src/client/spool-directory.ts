/**
 * The files of a spool: how a cycle is written, which files are cycles, and what happens to the others. A file that cannot be
 * sent is renamed and reported, so that it never blocks the cycles after it.
 */
import { closeSync, constants, statSync } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isObject, parseJson } from '../base/json.js'
import { codeOf } from '../base/errors.js'
import { LockedError, openLocked } from '../base/flock.js'
import { flushDirectory } from '../base/flush-directory.js'
import { reasonOf } from './errors.js'

const namePattern = /^(\d{8}T\d{4})\.json$/
/** Errors that concern this process and not the file that it reads. */
const processCodes: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** Another process has locked the directory. */
export class DirectoryLockedError extends Error {
  override readonly name = 'DirectoryLockedError'

  constructor(path: string) {
    super(`the directory ${path} is in use by another process`)
  }
}

/** Receives a message for the operator. */
export type Warn = (message: string) => void

interface OpenDirectory {
  userCount: number
  readonly opened: Promise<SpoolDirectory>
}

/** The open directories of this process by device and inode. Its spools with the same directory share one. */
const openDirectories = new Map<string, OpenDirectory>()

/**
 * Opens a directory, which is created if it is missing, and locks it for this process. Rejects with a `DirectoryLockedError`
 * if another process uses it.
 */
export async function openSpoolDirectory(directory: string, warn: Warn): Promise<SpoolDirectory> {
  const path = resolve(directory)
  const first = await mkdir(path, { recursive: true })
  // An earlier process may have ended between a rename and its flush.
  flushDirectories(path, first === undefined ? path : dirname(first), warn)
  const { dev, ino } = statSync(path, { bigint: true })
  const key = `${dev} ${ino}`
  const entry = openDirectories.get(key) ?? { userCount: 0, opened: SpoolDirectory.open(path, key, warn) }
  openDirectories.set(key, entry)
  entry.userCount++
  try {
    return await entry.opened
  } catch (error) {
    if (openDirectories.get(key) === entry) openDirectories.delete(key)
    throw error
  }
}

export class SpoolDirectory {
  /** Work that writes files, and work that sends them: one after the other, whatever spool it is for. */
  readonly writes = new SerialQueue()
  readonly deliveries = new SerialQueue()
  readonly #path: string
  readonly #key: string
  readonly #warn: Warn
  readonly #lock: number | null

  private constructor(path: string, key: string, warn: Warn, lock: number | null) {
    this.#path = path
    this.#key = key
    this.#warn = warn
    this.#lock = lock
  }

  static async open(path: string, key: string, warn: Warn): Promise<SpoolDirectory> {
    // The directory itself: it needs no file on a disk that may be full.
    const { O_RDONLY, O_DIRECTORY, O_NONBLOCK } = constants
    const lock = await openLocked(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK).catch((error: unknown) => {
      if (error instanceof LockedError) throw new DirectoryLockedError(path)
      warn(
        `the directory ${path} cannot be locked (${reasonOf(error)}): make sure that no other process uses it`,
      )
      return null
    })
    const directory = new SpoolDirectory(path, key, warn, lock)
    try {
      await directory.#clean()
    } catch (error) {
      if (lock !== null) closeSync(lock)
      throw error
    }
    return directory
  }

  /** Unlocks the directory when its last user has released it. */
  release(): void {
    const entry = openDirectories.get(this.#key)
    if (entry === undefined || --entry.userCount > 0) return
    openDirectories.delete(this.#key)
    if (this.#lock !== null) closeSync(this.#lock)
  }

  /** The ids of the cycles, the oldest first. */
  async cycleIds(): Promise<string[]> {
    const names = await readdir(this.#path)
    return names.flatMap((name) => namePattern.exec(name)?.[1] ?? []).sort()
  }

  /** The JSON text of a cycle. Null if there is none: what is in its place and is not this cycle is set aside. */
  async read(cycleId: string): Promise<string | null> {
    const name = nameOf(cycleId)
    try {
      const stored = await this.#readCycle(name)
      if (stored.cycleId === cycleId) return stored.json
      await this.#setAside(name, stored.problem ?? `it contains cycle ${stored.cycleId}`)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      if (processCodes.has(codeOf(error))) throw error
      await this.#setAside(name, `it cannot be read: ${reasonOf(error)}`)
    }
    return null
  }

  /** Resolves when the cycle survives a power cut. If it rejects, the file is there only if the last flush has failed. */
  async write(cycleId: string, json: string): Promise<void> {
    const path = join(this.#path, nameOf(cycleId))
    const partial = `${path}.partial`
    try {
      const file = await open(partial, 'w', 0o600)
      try {
        await file.writeFile(json)
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

  flush(): void {
    flushDirectory(this.#path, this.#warn)
  }

  async remove(cycleId: string): Promise<void> {
    await rm(join(this.#path, nameOf(cycleId)), { force: true })
  }

  async reject(cycleId: string): Promise<void> {
    await this.#moveAway(nameOf(cycleId), 'rejected')
  }

  /** Removes interrupted writes, and sets aside cycles under a name from which they would never be sent. */
  async #clean(): Promise<void> {
    for (const name of await readdir(this.#path)) {
      if (name.endsWith('.partial')) await this.#removePartial(name)
      else if (name.endsWith('.json') && !namePattern.test(name) && (await this.#isCycle(name)))
        await this.#setAside(name, 'its name is not that of a cycle')
    }
  }

  async #removePartial(name: string): Promise<void> {
    const path = join(this.#path, name)
    if ((await lstat(path)).isDirectory()) await this.#setAside(name, 'it is not a regular file')
    else await rm(path)
  }

  /** Files of others, such as a package.json, stay where they are. */
  async #isCycle(name: string): Promise<boolean> {
    const stored = await this.#readCycle(name).catch(() => null)
    return stored !== null && stored.cycleId !== null
  }

  async #readCycle(name: string): Promise<FoundCycle> {
    const path = join(this.#path, name)
    const none = { cycleId: null, json: '' }
    if (!(await lstat(path)).isFile()) return { ...none, problem: 'it is not a regular file' }
    const bytes = await readFile(path)
    const value = parseJson(bytes)
    if (value === undefined) return { ...none, problem: 'it is damaged: it is not JSON' }
    const cycleId = isObject(value) ? value['cycle_id'] : undefined
    if (typeof cycleId !== 'string') return { ...none, problem: 'it does not contain a cycle' }
    return { cycleId, json: bytes.toString(), problem: null }
  }

  async #setAside(name: string, problem: string): Promise<void> {
    const target = await this.#moveAway(name, 'set-aside')
    if (target !== null)
      this.#warn(`${join(this.#path, name)} is not sent, because ${problem}; it is now ${target}`)
  }

  /** Renames an entry to the first free name with this suffix, and returns it; null if the entry has gone. */
  async #moveAway(name: string, suffix: string): Promise<string | null> {
    const names = new Set(await readdir(this.#path))
    let target = `${name}.${suffix}`
    for (let number = 2; names.has(target); number++) target = `${name}.${suffix}-${number}`
    try {
      await rename(join(this.#path, name), join(this.#path, target))
      return target
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      throw error
    }
  }
}

/** A file that may be a cycle: its id and text, or the problem. */
interface FoundCycle {
  readonly cycleId: string | null
  readonly json: string
  readonly problem: string | null
}

/** Runs one piece of work after the other, whether or not the one before succeeded. */
class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when the work so far has ended. */
  idle(): Promise<unknown> {
    return this.#last
  }
}

/** Throws a `TypeError` if it is no id: a name must not leave the directory. */
function nameOf(cycleId: string): string {
  const name = `${cycleId}.json`
  if (!namePattern.test(name))
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
