/**
 * The journal on PostgreSQL. A commit is one statement in its own transaction, so that the server never waits for this
 * process while it holds a lock; the first thing that it does is to check the epoch and increment the head.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { assert } from '../../contract/index.js'
import { schemaVersion } from '../records/index.js'
import { StoreError } from '../store-error.js'
import { changeOf, cyclesOf, packChanges, type RecordRow } from './packed-changes.js'
import { JournalConnection, UnknownOutcome, type Row } from './connection.js'
import {
  originMark,
  Refusal,
  type ApplyChanges,
  type EntryMark,
  type EnvironmentState,
  type FollowResult,
  type Journal,
  type Lease,
  type NewEntry,
} from './journal.js'
import { checkSchemaVersion, checkVersion } from './schema.js'
import {
  acquireStatement,
  appendStatement,
  beginImportStatement,
  beginReading,
  createStatement,
  emptyStatements,
  endImportStatement,
  endStoppedStatement,
  pruneStatement,
  releaseStatement,
  renewStatement,
  stateStatement,
} from './statements.js'

const statementMsMax = 10_000
/** Records that are read at a time: those of two cycles at most are in memory. */
const rowsPerFetch = 8
/** How long closing waits for a call in progress. */
const closeMsMax = 1000
/** Removals that are pruned in one statement. */
const pruneCount = 5000
const lockNotAvailable = '55P03'

export interface PostgresJournalOptions {
  /** postgres:// with one or more hosts. */
  readonly url: string
  readonly environment: string
  readonly statementMsMax?: number
  /** Creates the environment if it is missing. Default: rejects then. */
  readonly create?: boolean
  /** Opens an environment whose import is not complete. */
  readonly isImport?: boolean
}

export class PostgresJournal implements Journal {
  readonly environment: string
  readonly id: string
  readonly #options: PostgresJournalOptions
  #connection: JournalConnection
  #lastCall: Promise<unknown> = Promise.resolve()
  #isClosed = false

  private constructor(options: PostgresJournalOptions, connection: JournalConnection, id: string) {
    this.environment = options.environment
    this.id = id
    this.#options = options
    this.#connection = connection
  }

  /** Connects. Rejects with a StoreError whose message states the remedy. */
  static async open(options: PostgresJournalOptions): Promise<PostgresJournal> {
    const connection = await connect(options)
    try {
      await checkSchemaVersion(connection)
      if (options.create === true)
        await connection.query(createStatement, [options.environment, randomUUID(), originMark.token])
      return new PostgresJournal(options, connection, await idOf(connection, options))
    } catch (error) {
      connection.close()
      throw error
    }
  }

  append({ epoch, after, token, changes }: NewEntry): Promise<boolean> {
    const cycles = cyclesOf(changes)
    const { bytes, columns } = packChanges(changes)
    const values = [
      ...[this.environment, epoch, after, token],
      ...[cycles.map(({ cycleId }) => cycleId), cycles.map(({ position }) => position)],
      ...[bytes, ...columns],
    ]
    return this.#run(async (connection) => (await connection.query(appendStatement, values)).length > 0)
  }

  renew(epoch: number): Promise<Lease | null> {
    return this.#run(async (connection) => {
      const [row] = await connection.query(renewStatement, [this.environment, epoch])
      return row === undefined ? null : leaseOf(row)
    })
  }

  acquire(node: string): Promise<Lease | null> {
    return this.#run(async (connection) => {
      try {
        const [row] = await connection.query(acquireStatement, [this.environment, node, schemaVersion])
        return row === undefined ? null : leaseOf(row)
      } catch (error) {
        if (error instanceof UnknownOutcome && error.state === lockNotAvailable) await this.#endStopped()
        throw error
      }
    })
  }

  async release(epoch: number): Promise<void> {
    await this.#run((connection) => connection.query(releaseStatement, [this.environment, epoch]))
  }

  state(): Promise<EnvironmentState> {
    return this.#run(async (connection) => {
      const row = await this.#environmentRow(connection)
      return {
        ...leaseOf(row),
        owner: row['owner'] === null ? null : String(row['owner']),
        leaseMsLeft: Number(row['lease_ms_left']),
        isFree: row['is_free'] === true,
        problem: problemOf(row),
      }
    })
  }

  follow(from: EntryMark, apply: ApplyChanges, partial: EntryMark | null = null): Promise<FollowResult> {
    return this.#run(async (connection) => {
      await connection.query(beginReading)
      const row = await this.#environmentRow(connection)
      const head = markOf(row)
      for (const { number, token } of [from, partial ?? originMark]) {
        if (number === 0 || (number === head.number && token === head.token)) continue
        const [entry] = await connection.query(
          'select token from understudy.entry where environment = $1 and number = $2',
          [this.environment, number],
        )
        if (entry?.['token'] !== token) {
          await connection.query('rollback')
          return { kind: 'diverged' }
        }
      }
      assert(from.number <= head.number, 'an entry that the journal has is not after its head')
      if (head.number > from.number) await this.#readChanges(connection, from, head, apply)
      await connection.query('commit')
      return { kind: 'followed', head }
    })
  }

  async #readChanges(
    connection: JournalConnection,
    from: EntryMark,
    head: EntryMark,
    apply: ApplyChanges,
  ): Promise<void> {
    await connection.query(
      `declare changes no scroll cursor for
       select kind, key, entry, value from understudy.record where environment = $1 and entry > $2
       order by entry, kind, key`,
      [this.environment, from.number],
    )
    for (;;) {
      const fetched: readonly unknown[] = await connection.query(`fetch ${rowsPerFetch} from changes`)
      const rows = fetched as readonly RecordRow[]
      const isLast = rows.length < rowsPerFetch
      await apply(rows.map(changeOf), isLast, head)
      if (isLast) return
    }
  }

  prune(epoch: number, olderThanMs: number): Promise<boolean> {
    return this.#run(async (connection) => {
      const values = [this.environment, epoch, olderThanMs, pruneCount]
      const [row] = await connection.query(pruneStatement, values)
      return Number(row?.['count']) < pruneCount
    })
  }

  /**
   * Prepares an import, as the owner: empties what an interrupted one has left. Throws a StoreError `unusable` for an
   * environment that is complete and has entries.
   */
  async beginImport(epoch: number): Promise<void> {
    await this.#run(async (connection) => {
      const values = [this.environment, epoch, originMark.token]
      const [row] = await connection.query(beginImportStatement, values)
      if (row === undefined)
        throw new StoreError(
          'unusable',
          `the environment ${this.environment} has data; import into a new one`,
        )
      for (const statement of emptyStatements) await connection.query(statement, [this.environment])
    })
  }

  async endImport(epoch: number): Promise<void> {
    const isEnded = await this.#run((connection) =>
      connection.query(endImportStatement, [this.environment, epoch]),
    )
    if (isEnded.length === 0) throw new StoreError('standby', 'another process has become the owner')
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.race([this.#lastCall.catch(() => undefined), delay(closeMsMax, undefined, { ref: false })])
    this.#connection.close()
  }

  /** Runs `work` after the calls before it, with a connection that is open. */
  #run<Result>(work: (connection: JournalConnection) => Promise<Result>): Promise<Result> {
    const running = this.#lastCall
      .catch(() => undefined)
      .then(async () => {
        if (this.#isClosed) throw new StoreError('closed', 'the journal is closed')
        if (!this.#connection.isOpen) await this.#reconnect()
        try {
          return await work(this.#connection)
        } catch (error) {
          // A transaction that failed midway ends with its connection. One statement that was refused has ended already.
          if (!(error instanceof Refusal) || this.#connection.isInTransaction) this.#connection.drop(error)
          throw error
        }
      })
    this.#lastCall = running
    return running
  }

  async #reconnect(): Promise<void> {
    // The next server first: one that was replaced, and cannot be reached by its standbys, accepts connections and confirms nothing.
    const connection = await connect(this.#options, this.#connection.server + 1)
    try {
      await checkSchemaVersion(connection)
      await this.#environmentRow(connection)
    } catch (error) {
      connection.drop(error)
      throw error
    } finally {
      this.#connection = connection
    }
  }

  async #environmentRow(connection: JournalConnection): Promise<Row> {
    const [row] = await connection.query(stateStatement, [this.environment])
    if (row === undefined)
      throw new StoreError('unusable', `the journal no longer has environment ${this.environment}`)
    if (row['id'] !== this.id)
      throw new StoreError(
        'unusable',
        `the environment ${this.environment} was deleted and created again in the journal`,
      )
    checkVersion(Number(row['schema_version']))
    // PgBouncer may have connected to another server since.
    if (row['is_standby'] === true) throw new StoreError('failed', 'the server of the journal is a standby')
    return row
  }

  async #endStopped(): Promise<void> {
    const connection = await connect(this.#options, this.#connection.server)
    await connection.query(endStoppedStatement, [applicationName(this.environment)])
    connection.close()
    // They release their locks before the next attempt.
    await delay(100)
  }
}

function connect(
  { url, environment, statementMsMax: msMax = statementMsMax }: PostgresJournalOptions,
  first = 0,
): Promise<JournalConnection> {
  return JournalConnection.open(url, { msMax, applicationName: applicationName(environment), first })
}

/** PostgreSQL cuts it after 63 bytes. */
function applicationName(environment: string): string {
  return `understudy ${environment}`.slice(0, 63)
}

/** The id of the environment. Throws if there is none, or if its import was interrupted. */
async function idOf(connection: JournalConnection, options: PostgresJournalOptions): Promise<string> {
  const { environment, isImport = false } = options
  const [row] = await connection.query('select id, is_complete from understudy.environment where name = $1', [
    environment,
  ])
  if (row === undefined) {
    const others = await connection.query('select name from understudy.environment order by name limit 20')
    const names = others.length === 0 ? 'none yet' : others.map(({ name }) => String(name)).join(', ')
    throw new StoreError(
      'unusable',
      `the journal has no environment ${environment} (it has: ${names}); create it with: understudy journal create ${environment}`,
    )
  }
  if (row['is_complete'] !== true && !isImport)
    throw new StoreError(
      'unusable',
      `the import of the environment ${environment} is not complete; run \`understudy journal import\` again`,
    )
  return String(row['id'])
}

/** Why its user could not be the owner; null: nothing is known. */
function problemOf(row: Row): string | null {
  if (row['rights_missing'] !== null)
    return `the user ${String(row['user_name'])} cannot write to the journal: it lacks ${String(row['rights_missing'])}; it must own the database`
  if (row['is_read_only'] === true)
    return 'the database of the journal is read-only: default_transaction_read_only is on'
  return null
}

function markOf(row: Row): EntryMark {
  return { number: Number(row['head']), token: String(row['token']) }
}

function leaseOf(row: Row): Lease {
  return { epoch: Number(row['epoch']), head: markOf(row), isSynchronous: row['is_synchronous'] === true }
}
