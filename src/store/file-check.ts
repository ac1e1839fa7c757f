/**
 * Looks at the database file before LMDB maps it: given a file that is none of its own, lmdb-js 3.5.6 dies of a
 * segmentation fault, and a file cut short kills the process with SIGBUS at the first read behind its end.
 *
 * A file starts with two meta pages; the one with the higher transaction holds. In a meta page, little endian:
 *
 *   byte  24  magic number 0xBEEFC0DE             48  page size, 4 bytes
 *         28  format version, low 16 bits        144  number of the last page in use, 8 bytes
 *                                                152  transaction, 8 bytes
 */
import { readSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { keyedNames, numberedNames } from './databases.js'
import { viewOf } from './record.js'
import { StoreError } from './store-error.js'
import { treeDamage } from './tree-check.js'

const magic = 0xbeefc0de
const formatVersion = 2
const metaBytes = 160
const pageBytesMin = 256
const pageBytesMax = 65_536

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

interface MetaPage {
  readonly pageBytes: number
  readonly lastPage: number
  readonly transaction: bigint
}

/**
 * Resolves when LMDB can open `path` safely: there is no file yet, an empty one, or a database that is whole. A file
 * shorter than it may grow is lengthened with zeros, so that no read can end behind its end.
 */
export async function checkDatabaseFile(path: string): Promise<void> {
  let file: FileHandle
  try {
    file = await open(path, 'r+')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  try {
    const { size } = await file.stat()
    if (size === 0) return
    const meta = await latestMeta(file, path)
    const bytesNeeded = (meta.lastPage + 1) * meta.pageBytes
    if (size < 2 * meta.pageBytes || bytesNeeded - size > unwrittenBytesMax)
      throw new StoreError('unusable', `${path} is cut short: ${size} bytes, ${bytesNeeded} are in use`)
    checkTrees(file, path, headsMsMax)
    if (size < bytesNeeded) await file.truncate(bytesNeeded)
  } finally {
    await file.close()
  }
}

/**
 * Looks at a file that is only read. `whole`: it must be as long as its last page says, as a backup is; a file that a
 * server writes may be shorter. Rejects with a StoreError `unusable` for anything else than a database.
 */
export async function checkReadableFile(path: string, whole: boolean): Promise<void> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new StoreError('unusable', `there is no database ${path}`)
  }
  try {
    const { size } = await file.stat()
    const meta = await latestMeta(file, path)
    const bytesNeeded = (meta.lastPage + 1) * meta.pageBytes
    const lacking = bytesNeeded - size
    if (size < 2 * meta.pageBytes || lacking > (whole ? 0 : unwrittenBytesMax))
      throw new StoreError('unusable', `${path} is cut short: ${size} bytes, ${bytesNeeded} are in use`)
    checkTrees(file, path, Infinity)
  } finally {
    await file.close()
  }
}

/** A server may write to the file: what is found counts where no commit has come between. */
function checkTrees(file: FileHandle, path: string, headsMs: number): void {
  for (let look = 0; look < looksMax; look++) {
    const before = metaPages(file)
    const damage = treeDamage(file.fd, names, headsMs)
    if (damage === null) return
    if (Buffer.compare(before, metaPages(file)) !== 0) continue
    throw new StoreError('unusable', `${path} is damaged and has to be restored from a backup: ${damage}`)
  }
}

function metaPages({ fd }: FileHandle): Uint8Array {
  const pages = new Uint8Array(2 * pageBytesMax)
  readSync(fd, pages, 0, pages.length, 0)
  return pages
}

async function latestMeta(file: FileHandle, path: string): Promise<MetaPage> {
  const first = await readMeta(file, 0)
  if (first === undefined) throw new StoreError('unusable', `${path} is not a database of this program`)
  const second = await readMeta(file, first.pageBytes)
  return second !== undefined && second.transaction > first.transaction ? second : first
}

/** The meta page at `offset`, or undefined if there is none. */
async function readMeta(file: FileHandle, offset: number): Promise<MetaPage | undefined> {
  const { bytesRead, buffer } = await file.read(new Uint8Array(metaBytes), 0, metaBytes, offset)
  const view = viewOf(buffer)
  if (bytesRead < metaBytes || view.getUint32(24, true) !== magic) return undefined
  if ((view.getUint32(28, true) & 0xffff) !== formatVersion) return undefined
  const pageBytes = view.getUint32(48, true)
  if (pageBytes < pageBytesMin || pageBytes > pageBytesMax) return undefined
  return {
    pageBytes,
    lastPage: Number(view.getBigUint64(144, true)),
    transaction: view.getBigUint64(152, true),
  }
}
