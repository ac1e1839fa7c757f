/**
 * File access whose errors are `ModelError`s that name the path. Each access holds a thread of libuv's pool until the volume
 * has responded, and commits of the store need a thread, too: so few accesses run at a time. Without other parts of a package,
 * since the processes of a model load it too.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { abortable, codeOf, secondMs, Semaphore } from '../../base/index.js'
import { foreignKind } from './file-kind.js'
import { ModelError } from '../model.js'

/** The pool has four threads. */
const accessCountMax = 2
const accesses = new Semaphore(accessCountMax)
/** A volume that responds opens or lists something small in milliseconds. */
const responseMsMax = 5 * secondMs
/** Paths of `accessPromptly` to which the volume has not responded in time, and not since. */
const unresponsive = new Set<string>()

/** The bytes of a file. `absence` is the message for a file that does not exist. */
export function readBytes(file: string, absence?: string): Promise<Buffer> {
  return accessFile(file, () => readFile(file), absence)
}

/**
 * The bytes of a file whose SHA-256 must be `sha256`: the caller uses exactly the bytes that were checked. `copy` is read instead
 * of the file, which messages name.
 */
export async function readHashed(file: string, sha256: string, copy = file): Promise<Buffer> {
  const bytes = await readBytes(copy)
  const actual = createHash('sha256').update(bytes).digest('hex')
  if (actual === sha256) return bytes
  const kind = file.endsWith('.json') ? null : foreignKind(bytes)
  const what = kind === null ? '' : `: ${kind}`
  throw new ModelError(`${file} has SHA-256 ${actual}; the manifest states ${sha256}${what}`)
}

/** Runs `access` on the file or directory `path`. Rejects with a `ModelError` if it fails. */
export async function accessFile<T>(path: string, access: () => Promise<T>, absence?: string): Promise<T> {
  try {
    return await accesses.run(access)
  } catch (cause) {
    throw accessError(path, cause, absence)
  }
}

/**
 * As `accessFile`, for files and directories that are small. Rejects if the volume does not respond within some seconds, and at
 * once while it has not responded to an earlier access of the path, or to as many accesses as may run.
 */
export async function accessPromptly<T>(
  path: string,
  access: () => Promise<T>,
  absence?: string,
): Promise<T> {
  const limit = new AbortController()
  const noResponse = new Error(`its volume has not responded for ${responseMsMax / secondMs} s`)
  let isRunning = false
  const run = async (): Promise<T> => {
    isRunning = true
    try {
      return await access()
    } finally {
      isRunning = false
      unresponsive.delete(path)
    }
  }
  const timer = setTimeout(() => {
    if (isRunning) unresponsive.add(path)
    limit.abort(noResponse)
  }, responseMsMax).unref()
  try {
    if (unresponsive.has(path) || unresponsive.size >= accessCountMax) throw noResponse
    return await abortable(accesses.run(run, limit.signal), limit.signal)
  } catch (cause) {
    throw accessError(path, cause, absence)
  } finally {
    clearTimeout(timer)
  }
}

function accessError(path: string, cause: unknown, absence = 'does not exist'): ModelError {
  const problem = codeOf(cause) === 'ENOENT' ? absence : `cannot be read: ${(cause as Error).message}`
  return new ModelError(`${path} ${problem}`, { cause })
}
