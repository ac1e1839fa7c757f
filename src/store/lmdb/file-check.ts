/**
 * Checks the database file before LMDB maps it: lmdb-js 3.5.6 crashes with a segmentation fault on a file that is not a
 * database, and a truncated file kills the process with SIGBUS at the first read beyond its end. A file starts with two
 * meta pages (page-layout.ts); the one with the higher transaction number is current.
 */
import type { FileHandle } from 'node:fs/promises'
import { codeOf, mebibyte } from '../../base/index.js'
import { databaseTable } from '../records/index.js'
import { openPlainFile } from './files.js'
import { metaBytes, readAt, readMeta, type Meta } from './page-layout.js'
import { StoreError } from '../store-error.js'
import { treeDamage } from './tree-check.js'

/**
 * LMDB does not write a page that one transaction both allocates and frees, so a valid file may be shorter than the number
 * of its last page implies, but not by more than one batch of writes.
 */
const unwrittenBytesMax = 256 * mebibyte

const names = Object.values(databaseTable).map(({ name }) => name)
/** At startup, when nothing is in the page cache, the header of each large record is one read from the disk. */
const headsMsMax = 1000
/** If a commit arrives during each of these attempts, the file has a server, which has checked it at startup. */
const attemptsMax = 4

/**
 * Resolves with the state of the file if LMDB can open `path` safely; rejects with a StoreError `unusable` if it is not a
 * database or is damaged. `write`: the file may be missing or empty, and one that is shorter than its last page requires is
 * extended with zeros, so that no read ends beyond its end. `read`: a server may be writing to the file. `read whole`: the
 * file must have all its pages, as a backup does.
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
    if (codeOf(error) !== 'ENOENT') throw error
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
      throw new StoreError('unusable', `${path} is truncated: ${size} bytes, ${bytesNeeded} are in use`)
    checkTrees(file, path, meta, isWriter ? headsMsMax : Infinity)
    if (isWriter && size < bytesNeeded) await file.truncate(bytesNeeded)
    return 'whole'
  } finally {
    await file.close()
  }
}

/** A server may write to the file: a problem counts if no commit happened during the check, or if every attempt finds it. */
function checkTrees({ fd }: FileHandle, path: string, { pageBytes }: Meta, headsMs: number): void {
  const problem = agreedProblem(
    () => treeDamage(fd, names, headsMs),
    () => Buffer.concat([readAt(fd, 0, metaBytes), readAt(fd, pageBytes, metaBytes)]),
  )
  if (problem !== null) throw new StoreError('unusable', `${path} ${problem}`)
}

/**
 * The problem that `check` finds, or null. The first result counts if `metaPages` are the same before and after it;
 * otherwise `attemptsMax` attempts must find the same problem, because a check during a commit may see half of it.
 */
export function agreedProblem(check: () => string | null, metaPages: () => Uint8Array): string | null {
  const found = new Set<string>()
  for (let count = 0; count < attemptsMax; count++) {
    const before = metaPages()
    const problem = check()
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
