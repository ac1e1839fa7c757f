/**
 * File access whose errors are `ModelError`s that name the path.
 */
import { readFile } from 'node:fs/promises'
import { ModelError } from '../model.js'

/** The bytes of a file. `absence` is the message for a file that does not exist. */
export function readBytes(file: string, absence?: string): Promise<Buffer> {
  return accessFile(file, () => readFile(file), absence)
}

/** Runs `access` on the file or directory `path`. Rejects with a `ModelError` where it fails. */
export async function accessFile<T>(
  path: string,
  access: () => Promise<T>,
  absence = 'does not exist',
): Promise<T> {
  try {
    return await access()
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const problem = code === 'ENOENT' ? absence : `cannot be read: ${(cause as Error).message}`
    throw new ModelError(`${path} ${problem}`, { cause })
  }
}
