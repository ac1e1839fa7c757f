/** Room on the disk. */
import { statfs } from 'node:fs/promises'

/** Bytes that are free for this user on the disk of `path`; Infinity where its file system does not say. */
export async function diskBytesFree(path: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(path)
  return blocks > 0 ? bavail * bsize : Infinity
}
