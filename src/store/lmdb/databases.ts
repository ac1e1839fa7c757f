/**
 * The LMDB environment of a data directory: its options, its named databases and the version of its layout.
 *
 *   understudy.mdb        everything; understudy.mdb-lock beside it is LMDB's own table of readers
 *     meta                text → record: `schema_version` (u32), `created_at` (RFC 3339)
 *     cycles              position → labels of a cycle
 *     requests, responses, entered, left, availability: the same key
 *     cycle_ids           cycle id → position
 *     pool                0 → columns of the pending pool after the last cycle
 *     images              image key → what identifies it        image_bytes: the same key → the normalised JPEG
 *     image_uses          SHA-256 of an upload and image key → nothing: the images that share a picture
 *     embeddings          encoder and what it encoded → a vector
 *     shadow_scores       position and model version → packed scores of a shadow
 *     model_versions      model version → identity of its files
 *     weights             1, 2, 3, … → one entry of the history
 *     outcomes            placement key → id and record
 */
import { open, type Database, type RootDatabase } from 'lmdb'
import { join } from 'node:path'
import { openRecord, packRecord, viewOf } from './record.js'
import { recordVersion } from './records.js'
import { describe, StoreError } from '../store-error.js'

/** Raised with every change that an older program cannot read; what it cannot read, it must not open. */
export const schemaVersion = 1

export type NumberedDatabase = Database<Uint8Array, number>
export type KeyedDatabase = Database<Uint8Array, Uint8Array>

export interface Databases {
  readonly root: RootDatabase<Uint8Array, Uint8Array>
  readonly meta: KeyedDatabase
  readonly cycles: NumberedDatabase
  readonly cycleIds: KeyedDatabase
  readonly requests: NumberedDatabase
  readonly responses: NumberedDatabase
  readonly entered: NumberedDatabase
  readonly left: NumberedDatabase
  readonly availability: NumberedDatabase
  readonly pool: NumberedDatabase
  readonly images: KeyedDatabase
  readonly imageBytes: KeyedDatabase
  readonly imageUses: KeyedDatabase
  readonly embeddings: KeyedDatabase
  readonly shadowScores: KeyedDatabase
  readonly modelVersions: KeyedDatabase
  readonly weights: NumberedDatabase
  readonly outcomes: KeyedDatabase
}

export const databaseCountMax = 24
/** Of the databases within a file: position or number as the key, or bytes. */
export const numberedNames = {
  cycles: 'cycles',
  requests: 'requests',
  responses: 'responses',
  entered: 'entered',
  left: 'left',
  availability: 'availability',
  pool: 'pool',
  weights: 'weights',
} as const
export const keyedNames = {
  meta: 'meta',
  cycleIds: 'cycle_ids',
  images: 'images',
  imageBytes: 'image_bytes',
  imageUses: 'image_uses',
  embeddings: 'embeddings',
  shadowScores: 'shadow_scores',
  modelVersions: 'model_versions',
  outcomes: 'outcomes',
} as const
export const schemaKey = Buffer.from('schema_version')
export const createdKey = Buffer.from('created_at')

export const databaseName = 'understudy.mdb'

export function databasePath(dataDir: string): string {
  return join(dataDir, databaseName)
}

/** Opens or creates the databases. Throws a StoreError `unusable` that says what is wrong with the file. */
export async function openDatabases(dataDir: string, mapBytesMax: number): Promise<Databases> {
  const path = databasePath(dataDir)
  let root: RootDatabase<Uint8Array, Uint8Array> | undefined
  try {
    root = openEnvironment(path, mapBytesMax)
    const meta = openMeta(root, path)
    return { root, meta, ...openNamed(root) }
  } catch (error) {
    await root?.close()
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be opened: ${describe(error)}`, { cause: error })
  }
}

/** Bytes of the file that the last commit uses, free space between them included. */
export function bytesInUse({ root }: Databases): number {
  const stats = root.getStats() as { lastPageNumber: number; pageSize: number }
  return (stats.lastPageNumber + 1) * stats.pageSize
}

function openEnvironment(path: string, mapBytesMax: number): RootDatabase<Uint8Array, Uint8Array> {
  return open<Uint8Array, Uint8Array>({
    path,
    noSubdir: true,
    ...permissions,
    maxDbs: databaseCountMax,
    // Address space, not memory and not disk. At its full size from the start, the map never moves under a reader.
    mapSize: mapBytesMax,
    // A commit flushes before it becomes visible: no read shows what a power cut could take back (decisions.md 23).
    overlappingSync: false,
    // Writer batches by itself. With lmdb-js's own batching, a commit that fails also rejects a promise that nobody
    // can reach, and Node ends the process for it.
    eventTurnBatching: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
  })
}

// Known to lmdb-js 3.5.6 (src/env.cpp) but not to its types. Requests are personal data: for the owner alone.
export const permissions = { permissionsMode: 0o600 }

/** The meta database, with a schema version that this program reads; written first when the file is new. */
function openMeta(root: RootDatabase<Uint8Array, Uint8Array>, path: string): KeyedDatabase {
  const names = [...root.getKeys({})].map((name) => Buffer.from(name).toString('utf8').replace(/\0$/, ''))
  if (names.length > 0 && !names.includes('meta'))
    throw new StoreError('unusable', `${path} is a database of another program`)
  const meta = openKeyed(root, 'meta')
  const version = meta.getBinary(schemaKey)
  if (version === undefined) {
    if (names.some((name) => name !== 'meta'))
      throw new StoreError('unusable', `${path} has no schema version`)
    root.transactionSync(() => {
      const value = new Uint8Array(4)
      viewOf(value).setUint32(0, schemaVersion, true)
      meta.putSync(schemaKey, packRecord(recordVersion, 0, [value]))
      meta.putSync(createdKey, packRecord(recordVersion, 0, [Buffer.from(new Date().toISOString())]))
    })
    return meta
  }
  const found = viewOf(openRecord(version, recordVersion, 'schema version').payload).getUint32(0, true)
  if (found !== schemaVersion)
    throw new StoreError(
      'unusable',
      `${path} has schema version ${found}; this program reads ${schemaVersion}`,
    )
  return meta
}

/** Creates what is missing: a process may have ended between two of these. */
function openNamed(root: RootDatabase<Uint8Array, Uint8Array>): Omit<Databases, 'root' | 'meta'> {
  return {
    cycles: openNumbered(root, numberedNames.cycles),
    cycleIds: openKeyed(root, keyedNames.cycleIds),
    requests: openNumbered(root, numberedNames.requests),
    responses: openNumbered(root, numberedNames.responses),
    entered: openNumbered(root, numberedNames.entered),
    left: openNumbered(root, numberedNames.left),
    availability: openNumbered(root, numberedNames.availability),
    pool: openNumbered(root, numberedNames.pool),
    images: openKeyed(root, keyedNames.images),
    imageBytes: openKeyed(root, keyedNames.imageBytes),
    imageUses: openKeyed(root, keyedNames.imageUses),
    embeddings: openKeyed(root, keyedNames.embeddings),
    shadowScores: openKeyed(root, keyedNames.shadowScores),
    modelVersions: openKeyed(root, keyedNames.modelVersions),
    weights: openNumbered(root, numberedNames.weights),
    outcomes: openKeyed(root, keyedNames.outcomes),
  }
}

function openNumbered(root: RootDatabase<Uint8Array, Uint8Array>, name: string): NumberedDatabase {
  return root.openDB<Uint8Array, number>(name, { encoding: 'binary', keyEncoding: 'uint32', cache: false })
}

function openKeyed(root: RootDatabase<Uint8Array, Uint8Array>, name: string): KeyedDatabase {
  return root.openDB<Uint8Array, Uint8Array>(name, {
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
  })
}
