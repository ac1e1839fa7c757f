/** Files that root makes for the user beside whose files they stand. */
import type { FileHandle } from 'node:fs/promises'

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Of root without the capability to (CAP_CHOWN), of a user namespace that does not have the owner, of a file system
 * without owners.
 */
const unableCodes = ['EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/**
 * Gives a file that root has made to `owner`; those of other users stay their own. False where it should have changed
 * hands and could not.
 */
export async function giveFile(file: FileHandle, { uid, gid }: Owner): Promise<boolean> {
  if (process.getuid?.() !== 0) return true
  const found = await file.stat()
  if (found.uid === uid && found.gid === gid) return true
  try {
    await file.chown(uid, gid)
    return true
  } catch (error) {
    if (!unableCodes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return false
  }
}
