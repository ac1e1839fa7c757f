/**
 * Looks at the database file before LMDB maps it: given a file that is none of its own, lmdb-js 3.5.6 dies of a
 * segmentation fault, and a file cut short kills the process with SIGBUS at the first read behind its end.
 * A file starts with two meta pages (page-layout.ts); the one with the higher transaction holds.
 */
import type { FileHandle } from 'node:fs/promises'
import { keyedNames, numberedNames } from './databases.js'
import { openPlainFile } from './files.js'
import { metaBytes, readAt, readMeta, type Meta } from './page-layout.js'
import { StoreError } from '../store-error.js'
import { treeDamage } from './tree-check.js'

/**
 * LMDB writes no page that one transaction took and gave back, so a sound file may be shorter than its last page
 * number says. By more than one batch of writes it cannot be.
 */
const unwrittenBytesMax = 256 * 1024 * 1024

const names = [...Object.values(numberedNames), ...Object.values(keyedNames)]
/** For a start: when nothing is in memory yet, each head of a large record is a way to the disk. */
const headsMsMax = 1000
/** A file that takes a commit during each of so many looks has a server, which has looked at its start. */
const looksMax = 4

/**
 * Resolves with what was found when LMDB can open `path` safely; rejects with a StoreError `unusable` for anything else
 * than a database. `write`: the file may be missing or empty, and one shorter than it may grow is lengthened with zeros, so
 * that no read can end behind its end. `read`: a server may write to the file. `read whole`: the file must be as long as
 * its last page says, as a backup is.
 */
export async function checkDatabaseFile(
  path: string,
  use: 'write' | 'read' | 'read whole',
): Promise<'missing' | 'empty' | 'whole'> {
  const isWriter = use === 'write'
  let file: FileHandle
  try {
    file = await openPlainFile(path, isWriter ? 'write' : 'read')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (isWriter) return 'missing'
    throw new StoreError('unusable', `there is no database ${path}`)
  }
  try {
    const { size } = await file.stat()
    if (isWriter && size === 0) return 'empty'
    const meta = latestMeta(file, path)
    const bytesNeeded = (meta.lastPage + 1) * meta.pageBytes
    const lackingMax = use === 'read whole' ? 0 : unwrittenBytesMax
    if (size < 2 * meta.pageBytes || bytesNeeded - size > lackingMax)
      throw new StoreError('unusable', `${path} is cut short: ${size} bytes, ${bytesNeeded} are in use`)
    checkTrees(file, path, meta, isWriter ? headsMsMax : Infinity)
    if (isWriter && size < bytesNeeded) await file.truncate(bytesNeeded)
    return 'whole'
  } finally {
    await file.close()
  }
}

/** A server may write to the file: what is found counts where no commit has come between, or where each look finds it. */
function checkTrees({ fd }: FileHandle, path: string, { pageBytes }: Meta, headsMs: number): void {
  const problem = agreedProblem(
    () => treeDamage(fd, names, headsMs),
    () => Buffer.concat([readAt(fd, 0, metaBytes), readAt(fd, pageBytes, metaBytes)]),
  )
  if (problem !== null) throw new StoreError('unusable', `${path} ${problem}`)
}

/**
 * What `look` finds wrong, or null: at once where `metaPages` are the same before and after it, or when so many looks in
 * which they have changed all find the same. Other findings may be half of one commit and half of the next.
 */
export function agreedProblem(look: () => string | null, metaPages: () => Uint8Array): string | null {
  const found = new Set<string>()
  for (let count = 0; count < looksMax; count++) {
    const before = metaPages()
    const problem = look()
    if (problem === null || Buffer.compare(before, metaPages()) === 0) return problem
    found.add(problem)
  }
  const [problem = null] = found
  return found.size === 1 ? problem : null
}

function latestMeta({ fd }: FileHandle, path: string): Meta {
  const first = readMeta(readAt(fd, 0, metaBytes))
  if (first === null) throw new StoreError('unusable', `${path} is not a database of this program`)
  const second = readMeta(readAt(fd, first.pageBytes, metaBytes))
  return second !== null && second.transaction > first.transaction ? second : first
}
