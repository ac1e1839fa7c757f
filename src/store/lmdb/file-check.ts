/**
 * Checks the database file before LMDB maps it: lmdb-js 3.5.6 crashes with a segmentation fault on a file that is not a
 * database, and a truncated file kills the process with SIGBUS at the first read beyond its end. A file starts with two
 * meta pages (page-layout.ts); the one with the higher transaction number is current.
 */
import type { FileHandle } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { builtFile, codeOf, mebibyte } from '../../base/index.js'
import { openPlainFile } from './files.js'
import { metaBytes, readAt, readMeta, type Meta } from './page-layout.js'
import { StoreError } from '../store-error.js'
import { checkTrees, type TreeCheck } from './tree-check.js'

/**
 * LMDB does not write a page that one transaction both allocates and frees, so a valid file may be shorter than the number
 * of its last page implies, but not by more than one batch of writes.
 */
const unwrittenBytesMax = 256 * mebibyte

/** At startup, when nothing is in the page cache, the header of each large record is one read from the disk. */
const headsMsMax = 1000
/** The trees of a larger file are checked in a thread, which costs 40 ms, while the server loads its model. */
const inlineBytesMax = 128 * mebibyte

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
    const check = {
      file: file.fd,
      pageBytes: meta.pageBytes,
      headsMsMax: isWriter ? headsMsMax : Infinity,
    }
    const problem = size > inlineBytesMax ? await checkInThread(check) : checkTrees(check)
    if (problem !== null) throw new StoreError('unusable', `${path} ${problem}`)
    if (isWriter && size < bytesNeeded) await file.truncate(bytesNeeded)
    return 'whole'
  } finally {
    await file.close()
  }
}

function checkInThread(check: TreeCheck): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(builtFile('store/lmdb/tree-check-entry.js'), {
      workerData: check,
      execArgv: [],
      name: 'pages',
    })
    thread.on('message', resolve)
    thread.on('error', reject)
    // After a result, this has no effect.
    thread.on('exit', () => reject(new Error('the thread that checks the pages ended without a result')))
  })
}

function latestMeta({ fd }: FileHandle, path: string): Meta {
  const first = readMeta(readAt(fd, 0, metaBytes))
  if (first === null) throw new StoreError('unusable', `${path} is not a database of this program`)
  const second = readMeta(readAt(fd, first.pageBytes, metaBytes))
  return second !== null && second.transaction > first.transaction ? second : first
}
