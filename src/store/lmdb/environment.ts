/**
 * The LMDB environment of a data directory: its options, its named databases and the check of their version.
 * understudy.mdb has everything; understudy.mdb-lock next to it is LMDB's own table of readers.
 */
import { open, type RootDatabase } from 'lmdb'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { firstLineOf, gibibyte, kibibyte } from '../../base/index.js'
import {
  canUpgrade,
  databaseNames,
  databaseTable,
  schemaKey,
  schemaProblem,
  schemaRecord,
  schemaVersion,
  schemaVersionOf,
  type DatabaseName,
  type Databases,
} from '../records/index.js'
import { StoreError } from '../store-error.js'

export type Root = RootDatabase<Uint8Array, Uint8Array>

export interface FileDatabases extends Databases {
  readonly root: Root
}

const databaseCountMax = 24

export const databaseName = 'understudy.mdb'

export function databasePath(dataDir: string): string {
  return join(dataDir, databaseName)
}

/** Where an upgrade keeps the database `path` as it was, which had this schema version. */
export function keptPath(path: string, version: number | ''): string {
  return `${path}.schema-${version}`
}

/** A file of an older version, which this program upgrades. */
export class OlderSchema extends StoreError {}

/**
 * Opens or creates the databases. Throws a StoreError `unusable` that names the problem of the file: `OlderSchema` if it has to be
 * upgraded first.
 */
export async function openDatabases(dataDir: string, mapBytesMax = mapBytesDefault): Promise<FileDatabases> {
  const path = databasePath(dataDir)
  let root: Root | undefined
  try {
    root = openEnvironment(path, mapBytesMax)
    // Before the other databases are opened, which creates missing ones.
    checkSchema({ meta: prepareMeta(root, path) }, path)
    return { root, ...openNamed(root) }
  } catch (error) {
    await root?.close()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be opened: ${openingProblem(error)}`, { cause: error })
  }
}

/**
 * Why LMDB opens no file, as the end of a sentence. A process that closes an environment as its last user destroys the mutexes
 * of the lock file, and one that opens it at that moment gets EINVAL for as long as it lives (LMDB ITS#10095; lmdb-js 3.5.6
 * has that code). The next process creates them again.
 */
export function openingProblem(error: unknown): string {
  const problem = firstLineOf(error)
  const isEinval = error instanceof Error && 'code' in error && error.code === constants.errno.EINVAL
  return isEinval ? `another process was just closing it, start again (${problem})` : problem
}

/** Bytes of the file that the last commit uses, free space between them included. */
export function bytesInUse(root: Root): number {
  const stats = root.getStats() as { lastPageNumber: number; pageSize: number }
  return (stats.lastPageNumber + 1) * stats.pageSize
}

/**
 * Of a new file. lmdb-js 3.5.6 builds the list of free ranges of pages again in each commit, in time that grows with the square of
 * their number. In pages of 4 KiB, what expires leaves tens of thousands of ranges after some weeks, and a commit took 15 ms.
 */
export const pageBytes = 16 * kibibyte

/** How every environment is opened, for writing or for reading. */
export const environmentOptions = {
  noSubdir: true,
  // Known to lmdb-js 3.5.6 (src/env.cpp) but not to its types. Requests are personal data: for the owner alone.
  permissionsMode: 0o600,
  maxDbs: databaseCountMax,
  encoding: 'binary',
  keyEncoding: 'binary',
  cache: false,
} as const

/** Enough for years at a few gigabytes a day. This is address space: the disk holds only what is written. */
export const mapBytesDefault = 1024 * gibibyte

/** Opens or creates a file for writing. */
export function openEnvironment(path: string, mapBytesMax = mapBytesDefault): Root {
  return open<Uint8Array, Uint8Array>({
    path,
    ...environmentOptions,
    pageSize: pageBytes,
    // Address space, not memory and not disk. At its full size from the start, the map never moves under a reader.
    mapSize: mapBytesMax,
    // A commit flushes before it becomes visible: no read shows what a power cut could take back (docs/contract.md).
    overlappingSync: false,
    // WriteQueue batches by itself. With lmdb-js's own batching, a commit that fails also rejects a promise that nobody
    // can reach, and Node ends the process for it.
    eventTurnBatching: false,
  })
}

/** Writes the schema version when the file is new. */
function prepareMeta(root: Root, path: string): Databases['meta'] {
  const names = [...root.getKeys({})].map((name) => Buffer.from(name).toString('utf8').replace(/\0$/, ''))
  if (names.length > 0 && !names.includes('meta'))
    throw new StoreError('unusable', `${path} is a database of another program`)
  const meta = openOne(root, 'meta')
  if (meta.doesExist(schemaKey)) return meta
  if (names.some((name) => name !== 'meta')) throw new StoreError('unusable', `${path} has no schema version`)
  root.transactionSync(() => {
    meta.put(schemaKey, schemaRecord())
  })
  return meta
}

/** Throws a StoreError `unusable` for a file of another program or schema version: `OlderSchema` if this program upgrades it. */
export function checkSchema({ meta }: Pick<Databases, 'meta'>, path: string): void {
  const record = meta.getBinary(schemaKey)
  if (record === undefined) throw new StoreError('unusable', `${path} is a database of another program`)
  const version = schemaVersionOf(record)
  const problem = schemaProblem('data directory', version)
  if (problem === null) return
  const ErrorClass = canUpgrade(version) ? OlderSchema : StoreError
  throw new ErrorClass('unusable', `${path} ${problem}${wayBack(path)}`)
}

/** How to return to this program after a newer one has upgraded a file. */
function wayBack(path: string): string {
  const kept = keptPath(path, schemaVersion)
  if (!existsSync(kept)) return ''
  return (
    `. No cycle has been stored since the newer program upgraded the file: to return to this one, rename ${kept} ` +
    `to ${path}, without what arrived since`
  )
}

/**
 * Opens the databases and creates missing ones, as a process may have ended between two of these. In an environment that
 * is open for reading, a missing one is undefined.
 */
export function openNamed(root: Root): Databases {
  return Object.fromEntries(databaseNames.map((name) => [name, openOne(root, name)])) as unknown as Databases
}

function openOne<Name extends DatabaseName>(root: Root, name: Name): Databases[Name] {
  const options = { encoding: 'binary', keyEncoding: databaseTable[name].keyEncoding, cache: false } as const
  return root.openDB(databaseTable[name].name, options) as unknown as Databases[Name]
}
