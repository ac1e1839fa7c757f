/**
 * Moves a data directory into the journal and back. Both directions compare the two sides afterwards, record by record.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { mebibyte, withRelease } from '../base/index.js'
import { databasePath } from './lmdb/environment.js'
import {
  applyChanges,
  bytesOf,
  kinds,
  readViewState,
  removeViewState,
  writeViewState,
  type Change,
  type Databases,
  type RecordStoreParts,
} from './records/index.js'
import { openLmdbParts, type LmdbStoreOptions } from './lmdb/open-lmdb-store.js'
import { StoreError } from './store-error.js'
import { originMark, type Lease } from './journal/journal.js'
import { PostgresJournal } from './journal/postgres-journal.js'
import { isEmpty } from './journal/view.js'

export interface TransferOptions {
  readonly journal: string
  readonly environment: string
  /** The data directory: read by an import, created by an export. */
  readonly directory: LmdbStoreOptions
}

export interface TransferFacts {
  readonly records: number
  readonly bytes: number
  /** Hash of all records, in any order. */
  readonly sha256: string
}

/** One commit has about as many bytes and records. */
const entryBytes = 8 * mebibyte
const entryCount = 5000

/**
 * Copies a data directory, which no server may use, into a new environment of the journal. The directory is then a view of
 * it. Rejects with a StoreError; the environment cannot be used then, and a second import begins again.
 */
export async function importDirectory({
  journal: url,
  environment,
  directory,
}: TransferOptions): Promise<TransferFacts> {
  const view = await openExisting(directory)
  let journal: PostgresJournal | undefined
  const transfer = async (): Promise<TransferFacts> => {
    const known = readViewState(view.databases)
    if (known !== null)
      throw new StoreError(
        'unusable',
        `${directory.dataDir} is already a view of the environment ${known.environment}; start the server on it. If that journal is lost, run: ` +
          'understudy journal detach',
      )
    journal = await PostgresJournal.open({ url, environment, isImport: true, create: true })
    const node = `import on ${hostname()}#${randomUUID()}`
    const lease = await journal.acquire(node)
    if (lease === null)
      throw new StoreError(
        'locked',
        `the environment ${environment} is owned by ${(await journal.state()).owner}; stop that process first`,
      )
    try {
      await journal.beginImport(lease.epoch)
      await appendAll(view.databases, journal, lease)
      const facts = factsOf(view.databases)
      checkSame(facts, await readJournal(journal))
      await journal.endImport(lease.epoch)
      const { head } = await journal.state()
      const state = { environment, id: journal.id, node, ...head, partial: null }
      await view.writes.write(0, () => writeViewState(view.databases, state))
      return facts
    } finally {
      await journal.release(lease.epoch).catch(() => undefined)
    }
  }
  return withRelease(
    () => withRelease(transfer, () => journal?.close()),
    () => view.close(),
  )
}

async function appendAll(databases: Databases, journal: PostgresJournal, { epoch }: Lease): Promise<void> {
  let after = 0
  let changes: Change[] = []
  let bytes = 0
  const append = async (): Promise<void> => {
    const isStored = await journal.append({ epoch, after, token: randomUUID(), changes })
    if (!isStored) throw new StoreError('standby', 'another process has become the owner of the environment')
    after++
    changes = []
    bytes = 0
  }
  for (const { kind, key, value } of recordsOf(databases)) {
    // Copies: they are kept beyond this turn of the event loop.
    const copy = Uint8Array.from(value)
    changes.push({ kind, key: typeof key === 'number' ? key : Uint8Array.from(key), value: copy })
    bytes += copy.length
    if (bytes >= entryBytes || changes.length >= entryCount) await append()
  }
  if (changes.length > 0 || after === 0) await append()
}

/** Reads an environment, whose records `use` gets in batches. */
async function readJournal(
  journal: PostgresJournal,
  use: (changes: readonly Change[]) => Promise<void> = () => Promise.resolve(),
): Promise<TransferFacts> {
  const digest = new Digest()
  await journal.follow(originMark, async (changes) => {
    changes.forEach((change) => digest.add(change))
    await use(changes)
  })
  return digest.facts
}

function* recordsOf(databases: Databases): Iterable<Change & { readonly value: Uint8Array }> {
  for (const kind of kinds) for (const row of databases[kind].getRange({})) yield { kind, ...row }
}

function factsOf(databases: Databases): TransferFacts {
  const digest = new Digest()
  for (const record of recordsOf(databases)) digest.add(record)
  return digest.facts
}

/**
 * Makes a data directory that is a view independent of its journal, which was lost: it has every cycle up to the entry that
 * the view had read. Resolves with its environment and this entry. Rejects with a StoreError for another directory.
 */
export async function detachDirectory(
  directory: LmdbStoreOptions,
): Promise<{ readonly environment: string; readonly entry: number }> {
  const view = await openExisting(directory)
  const detach = async (): Promise<{ readonly environment: string; readonly entry: number }> => {
    const state = readViewState(view.databases)
    if (state === null) throw new StoreError('unusable', `${directory.dataDir} is not a view of a journal`)
    if (state.partial !== null || state.number === 0)
      throw new StoreError(
        'unusable',
        `${directory.dataDir} is an incomplete view of the journal; use the data directory of another process`,
      )
    await view.writes.write(0, () => removeViewState(view.databases))
    return { environment: state.environment, entry: state.number }
  }
  return withRelease(detach, () => view.close())
}

/** Opens the databases of a directory that has some. */
async function openExisting(directory: LmdbStoreOptions): Promise<RecordStoreParts> {
  if (!existsSync(databasePath(directory.dataDir)))
    throw new StoreError('unusable', `${directory.dataDir} has no data`)
  return openLmdbParts(directory)
}

/** Copies an environment into a new data directory, which needs no journal. Rejects with a StoreError. */
export async function exportDirectory({
  journal: url,
  environment,
  directory,
}: TransferOptions): Promise<TransferFacts> {
  const journal = await PostgresJournal.open({ url, environment })
  let target: RecordStoreParts | undefined
  const transfer = async (): Promise<TransferFacts> => {
    const parts = await openLmdbParts(directory)
    target = parts
    if (!isEmpty(parts.databases))
      throw new StoreError('unusable', `the directory ${directory.dataDir} has data; export into a new one`)
    // Until it is whole, it is a view that nobody serves or detaches.
    const node = `export on ${hostname()}#${randomUUID()}`
    const state = { environment, id: journal.id, node, ...originMark, partial: null }
    await parts.writes.write(0, () => writeViewState(parts.databases, state))
    const read = await readJournal(journal, (changes) =>
      parts.writes.write(bytesOf(changes.map(({ value }) => value)), () =>
        applyChanges(parts.databases, changes),
      ),
    )
    const facts = factsOf(parts.databases)
    checkSame(read, facts)
    await parts.writes.write(0, () => removeViewState(parts.databases))
    return facts
  }
  return withRelease(
    () => withRelease(transfer, () => target?.close()),
    () => journal.close(),
  )
}

function checkSame(one: TransferFacts, other: TransferFacts): void {
  if (one.records !== other.records || one.sha256 !== other.sha256)
    throw new StoreError(
      'failed',
      `the copy differs: ${one.records} records were read, ${other.records} are stored`,
    )
}

/** A digest of records that does not depend on their order: the sum of their hashes. */
class Digest {
  #records = 0
  #bytes = 0
  #sum = 0n

  add({ kind, key, value }: Change): void {
    if (value === null) return
    const name = typeof key === 'number' ? String(key) : Buffer.from(key).toString('hex')
    const hash = createHash('sha256').update(`${kind} ${name}\n`).update(value).digest('hex')
    this.#sum = (this.#sum + BigInt(`0x${hash}`)) & ((1n << 256n) - 1n)
    this.#records++
    this.#bytes += value.length
  }

  get facts(): TransferFacts {
    return { records: this.#records, bytes: this.#bytes, sha256: this.#sum.toString(16).padStart(64, '0') }
  }
}
