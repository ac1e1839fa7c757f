/**
 * File access whose errors are `ModelError`s that name the path. Without other parts of a package, since the processes of
 * a model load it too.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { codeOf } from '../../base/index.js'
import { foreignKind } from './file-kind.js'
import { ModelError } from '../model.js'

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
export async function accessFile<T>(
  path: string,
  access: () => Promise<T>,
  absence = 'does not exist',
): Promise<T> {
  try {
    return await access()
  } catch (cause) {
    const code = codeOf(cause)
    const problem = code === 'ENOENT' ? absence : `cannot be read: ${(cause as Error).message}`
    throw new ModelError(`${path} ${problem}`, { cause })
  }
}
