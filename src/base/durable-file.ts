/** Files of which a reader, a crash and a link in their place never make half a file, or one that is somewhere else. */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { flushDirectory } from './flush-directory.js'

/**
 * Creates or replaces a file atomically and durably: after a power cut it has the old content or the new one. A link of this name
 * is replaced, not followed. The umask of the process does not apply to `mode`; it applies if no mode is given.
 */
export function writeFileDurably(file: string, content: string | Uint8Array, mode?: number): void {
  const partial = `${file}.partial`
  try {
    rmSync(partial, { force: true })
    const handle = openSync(partial, 'wx', mode)
    try {
      if (mode !== undefined) fchmodSync(handle, mode)
      writeFileSync(handle, content)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(partial, file)
    flushDirectory(dirname(file))
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}

/** Whether anything has this name, also a link that leads nowhere. */
export function isPresent(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
