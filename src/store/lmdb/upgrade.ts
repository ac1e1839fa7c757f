/**
 * Upgrades the database of a data directory: writes a new file with the records in the layout of this program, and exchanges
 * it for the old one, which keeps another name until the first cycle is stored. `understudy.mdb` is at each moment one whole
 * file, the old one or the new one.
 *
 *   understudy.mdb.upgrade    the new file, until it is complete
 *   understudy.mdb.schema-6   the old file, of version 6
 */
import { open, type Database } from 'lmdb'
import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { link, open as openFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { firstLineOf, flushDirectory, mebibyte, nextTurn, secondMs, withRelease } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import {
  canUpgrade,
  layoutOf,
  schemaKey,
  schemaProblem,
  schemaRecord,
  schemaVersion,
  schemaVersionOf,
  upgradedRecords,
  upgradesFrom,
  type LayoutRecord,
} from '../records/index.js'
import { StoreError } from '../store-error.js'
import {
  bytesInUse,
  databasePath,
  environmentOptions,
  keptPath,
  openEnvironment,
  openingProblem,
  type Root,
} from './environment.js'
import { checkDatabaseFile } from './file-check.js'
import { asOwnerOf, changeOwner, diskBytesFree, flushFile } from './files.js'
import { prepareLockFile } from './lmdb-lock-file.js'

export interface UpgradePlan {
  readonly path: string
  readonly from: number
  readonly to: number
  /** What changes, a line for each version on the way. */
  readonly changes: readonly string[]
  readonly bytesNeeded: number
  readonly bytesFree: number
}

export interface UpgradeFacts {
  readonly records: number
  /** The file as it was. */
  readonly keptPath: string
}

/** What happens in an upgrade, in this order; `progress` every ten seconds. `records`: written so far. */
export type UpgradeEvent =
  | { readonly kind: 'start'; readonly plan: UpgradePlan }
  | { readonly kind: 'progress'; readonly records: number }
  | { readonly kind: 'end'; readonly facts: UpgradeFacts }

/** Records are written in transactions of about this many bytes, between which the process does other work. */
const transactionBytes = 8 * mebibyte
/** What a new file needs beside the bytes that the old one uses: a record may become longer. */
const bytesNeededFactor = 1.1
const bytesNeededMin = 64 * mebibyte
const progressMs = 10 * secondMs

/**
 * What an upgrade of a data directory would do; null: its database has this program's version, or there is none. A server may be
 * running. Rejects with a StoreError `unusable` for a file that this program does not upgrade.
 */
export async function planUpgrade(dataDir: string): Promise<UpgradePlan | null> {
  const path = databasePath(resolve(dataDir))
  if (!existsSync(path)) return null
  return withOlder(path, (older) => planOf(path, older))
}

/**
 * Upgrades the database of a directory whose lock the caller holds; null: it has this program's version. Rejects with a StoreError,
 * and has then changed nothing: `full` when the disk has no room for the new file.
 */
export async function upgradeDirectory(
  dataDir: string,
  onEvent: (event: UpgradeEvent) => void,
): Promise<UpgradeFacts | null> {
  const path = databasePath(resolve(dataDir))
  const partial = partialPath(path)
  const facts = await withOlder(path, async (older) => {
    const plan = await planOf(path, older)
    checkFree(plan)
    onEvent({ kind: 'start', plan })
    const onProgress = (records: number): void => onEvent({ kind: 'progress', records })
    const records = await copyUpgraded(path, older, partial, onProgress)
    return { records, keptPath: keptPath(path, plan.from) }
  })
  if (facts === null) return null
  // The old file has two names for a moment.
  await rm(facts.keptPath, { force: true })
  await link(path, facts.keptPath)
  flushDirectory(dirname(path))
  // The table of readers is that of the old file, which commands may still be reading: a writer must not share it. Both times, since
  // a command may open the old file, or this process end, between two of these steps.
  await rm(`${path}-lock`, { force: true })
  await rename(partial, path)
  await rm(`${path}-lock`, { force: true })
  flushDirectory(dirname(path))
  onEvent({ kind: 'end', facts })
  return facts
}

/** Writes the database of a backup to the new file `target`, in the layout of this program. False: it has that layout already. */
export async function upgradeCopy(path: string, target: string): Promise<boolean> {
  return (await withOlder(path, (older) => copyUpgraded(path, older, target))) !== null
}

/** Removes what an interrupted upgrade has left. */
export async function removePartialUpgrade(path: string): Promise<void> {
  await removeFile(partialPath(path))
}

/** The files that upgrades of `path` have kept. */
export function keptFiles(path: string): string[] {
  const directory = dirname(path)
  const start = keptPath(basename(path), '')
  return readdirSync(directory)
    .filter((name) => name.startsWith(start))
    .map((name) => join(directory, name))
}

function partialPath(path: string): string {
  return `${path}.upgrade`
}

async function planOf(path: string, { version, root }: OlderFile): Promise<UpgradePlan> {
  return {
    path,
    from: version,
    to: schemaVersion,
    changes: upgradesFrom(version).map(({ change }) => change),
    bytesNeeded: Math.ceil(bytesInUse(root) * bytesNeededFactor) + bytesNeededMin,
    bytesFree: await diskBytesFree(dirname(path)),
  }
}

/** Throws a StoreError `full` if the disk has no room for an upgrade. */
function checkFree({ path, from, to, bytesNeeded, bytesFree }: UpgradePlan): void {
  if (bytesFree < bytesNeeded)
    throw new StoreError(
      'full',
      `${path} cannot be upgraded from schema version ${from} to ${to}: ${bytesNeeded} bytes are needed on its disk, ` +
        `${bytesFree} are free`,
    )
}

interface OlderFile {
  readonly version: number
  readonly root: Root
}

/** What `use` makes of a database of an older version, for reading; null: it has this program's version. */
async function withOlder<T>(path: string, use: (older: OlderFile) => Promise<T>): Promise<T | null> {
  await checkDatabaseFile(path, 'read')
  await prepareLockFile(path, { readOnly: true })
  let root: Root | undefined
  try {
    const opened = asOwnerOf(path, () =>
      open<Uint8Array, Uint8Array>({ path, readOnly: true, ...environmentOptions }),
    )
    root = opened
    const record = databaseOf(opened, 'meta', 'binary')?.getBinary(schemaKey)
    if (record === undefined) throw new StoreError('unusable', `${path} is a database of another program`)
    const version = schemaVersionOf(record)
    if (canUpgrade(version)) return await use({ version, root: opened })
    const problem = schemaProblem('data directory', version)
    if (problem !== null) throw new StoreError('unusable', `${path} ${problem}`)
    return null
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('unusable', `${path} cannot be upgraded: ${openingProblem(error)}`, { cause: error })
  } finally {
    await root?.close()
  }
}

type RawDatabase = Database<Uint8Array, number | Uint8Array>

/** Undefined in a file for reading that lacks it. */
function databaseOf(root: Root, name: string, keyEncoding: 'uint32' | 'binary'): RawDatabase | undefined {
  return root.openDB<Uint8Array, number | Uint8Array>(name, { encoding: 'binary', keyEncoding, cache: false })
}

function* recordsOf({ version, root }: OlderFile): Generator<LayoutRecord> {
  const databases = Object.entries(layoutOf(version)).map(
    ([name, { keyEncoding }]) => [name, databaseOf(root, name, keyEncoding)] as const,
  )
  // After the databases are open: opening one ends the current read transaction.
  const transaction = root.useReadTransaction()
  try {
    for (const [database, records] of databases)
      for (const { key, value } of records?.getRange({ transaction }) ?? [])
        if (database !== 'meta' || !schemaKey.equals(key as Uint8Array)) yield { database, key, value }
  } finally {
    transaction.done()
  }
}

/**
 * Writes the records of `older`, the database at `path`, to the new file `target`, flushed, and for the same owner. Returns their
 * number. After a failure, `target` does not exist.
 */
async function copyUpgraded(
  path: string,
  older: OlderFile,
  target: string,
  onProgress?: (records: number) => void,
): Promise<number> {
  await removeFile(target)
  const file = await openFile(target, 'wx', 0o600)
  try {
    changeOwner(file.fd, lstatSync(path))
  } finally {
    await file.close()
  }
  try {
    await prepareLockFile(target, { readOnly: false })
    const copy = asOwnerOf(target, () => openEnvironment(target))
    const count = await withRelease(
      () => writeUpgraded(older, copy, onProgress),
      () => copy.close(),
    )
    await rm(`${target}-lock`, { force: true })
    await checkDatabaseFile(target, 'read whole')
    flushFile(target)
    return count
  } catch (error) {
    await removeFile(target)
    throw error instanceof StoreError
      ? error
      : new StoreError('failed', `${target} cannot be written: ${firstLineOf(error)}`, { cause: error })
  }
}

/** With its table of readers. */
async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(`${path}-lock`, { force: true })
}

async function writeUpgraded(
  older: OlderFile,
  copy: Root,
  onProgress: (records: number) => void = () => undefined,
): Promise<number> {
  const databases = new Map<string, RawDatabase>()
  for (const [name, { keyEncoding }] of Object.entries(layoutOf(schemaVersion)))
    databases.set(name, databaseOf(copy, name, keyEncoding)!)
  const source = recordsOf(older)
  let count = 0
  /** True when all are written. */
  const writeSome = (): boolean => {
    for (let bytes = 0; bytes < transactionBytes;) {
      const next = source.next()
      if (next.done === true) {
        databases.get('meta')!.putSync(schemaKey, schemaRecord())
        return true
      }
      for (const { database, key, value } of upgradedRecords(next.value, older.version)) {
        databases.get(database)!.putSync(key, value)
        bytes += value.byteLength
        count++
      }
    }
    return false
  }
  let reportedAtMs = performance.now()
  while (!copy.transactionSync(writeSome)) {
    if (performance.now() - reportedAtMs > progressMs) {
      reportedAtMs = performance.now()
      onProgress(count)
    }
    await nextTurn()
  }
  const stored = [...databases.values()].reduce((sum, database) => sum + entriesOf(database), 0)
  assert(stored === count + 1, 'each record of an upgrade has a key of its own')
  return count
}

function entriesOf(database: RawDatabase): number {
  return (database.getStats() as { entryCount: number }).entryCount
}
