/**
 * Files of a data directory, which may belong to a different user from the one who runs this process: root backs up, verifies
 * and restores what a service account owns. Nothing here follows a symbolic link, and what root creates goes to the
 * owner of its directory.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  statSync,
  type Stats,
} from 'node:fs'
import { open, stat, statfs, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, fileSizeProblem, mebibyte } from '../../base/index.js'
import { StoreError } from '../store-error.js'

/** What root gets without CAP_CHOWN or CAP_SETUID, in a user namespace without the owner, or on a file system without owners. */
const unableCodes = ['EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Opens a plain file. Rejects with a StoreError `unusable` for a link, a pipe or a directory. */
export async function openPlainFile(path: string, access: 'read' | 'write'): Promise<FileHandle> {
  const { O_RDONLY, O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants
  let file: FileHandle
  try {
    file = await open(path, (access === 'read' ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (['ELOOP', 'EISDIR', 'ENXIO'].includes(codeOf(error))) throw notPlain(path)
    throw error
  }
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw notPlain(path)
}

export function notPlain(path: string): StoreError {
  return new StoreError('unusable', `${path} is not a regular file`)
}

/** Flushes a complete copy, and makes it readable for its owner only. */
export function flushFile(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    fchmodSync(fd, 0o600)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export function isSameFile(fd: number, path: string): boolean {
  const open = fstatSync(fd, { bigint: true })
  const file = statSync(path, { bigint: true, throwIfNoEntry: false })
  return file !== undefined && file.dev === open.dev && file.ino === open.ino
}

/** Gives an open file to `owner` when this process is root. False if the owner must change and cannot. */
export function changeOwner(fd: number, { uid, gid }: Pick<Stats, 'uid' | 'gid'>): boolean {
  if (process.getuid?.() !== 0) return true
  const owner = fstatSync(fd)
  if (owner.uid === uid && owner.gid === gid) return true
  try {
    fchownSync(fd, uid, gid)
    return true
  } catch (error) {
    if (!unableCodes.includes(codeOf(error))) throw error
    return false
  }
}

/**
 * Runs `work`, which is synchronous, with the effective user of the owner of the file `path` when this process is root.
 * Libraries that open files by name need it: the owner of the directory may replace a file by a link at any moment, and then
 * only reaches what is its own.
 */
export function asOwnerOf<T>(path: string, work: () => T): T {
  const { uid, gid } = lstatSync(path)
  if (process.getuid?.() !== 0 || uid === 0 || process.getgroups === undefined) return work()
  const groups = process.getgroups()
  const rootGid = process.getegid?.() ?? 0
  try {
    process.setgroups?.([gid])
    process.setegid?.(gid)
    process.seteuid?.(uid)
  } catch (error) {
    if (!unableCodes.includes(codeOf(error))) throw error
    return work()
  }
  const restore = (): void => {
    process.seteuid?.(0)
    process.setegid?.(rootGid)
    process.setgroups?.(groups)
  }
  try {
    // An owner who cannot reach the directory cannot replace a file in it.
    if (!canEnter(dirname(path))) restore()
    return work()
  } finally {
    restore()
  }
}

/** Tries to open it, because access(2) checks the permissions of the real user. */
function canEnter(directory: string): boolean {
  try {
    closeSync(openSync(`${directory}/.`, constants.O_RDONLY | constants.O_DIRECTORY))
    return true
  } catch (error) {
    if (codeOf(error) === 'EACCES') return false
    throw error
  }
}

/** A few of the largest cycles: with less, a process is not ready to serve. */
export const diskBytesFreeMin = 128 * mebibyte

/** Bytes that are free for this user on the disk of `path`; Infinity when its file system does not report them. */
export async function diskBytesFree(path: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(path)
  return blocks > 0 ? bavail * bsize : Infinity
}

/** Why `bytes` more bytes do not fit into this file, as a sentence; null if there is room. */
export async function lackOfRoom(file: string, bytes: number): Promise<string | null> {
  const [{ size }, free] = await Promise.all([stat(file), diskBytesFree(dirname(file))])
  if (free < bytes) return `${free} bytes are free on the disk of ${file}, and ${bytes} are needed`
  return fileSizeProblem(size + bytes)
}

/** Rejects with a StoreError `full` if fewer bytes are free on the disk of `path`; the message is about `what`. */
export async function checkRoom(path: string, bytesMin: number, what: string): Promise<void> {
  const bytesFree = await diskBytesFree(path)
  if (bytesFree < bytesMin)
    throw new StoreError('full', `${path} has no room ${what}: ${bytesFree} bytes are free`)
}
