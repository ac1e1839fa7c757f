/**
 * The journal on PostgreSQL. A commit is one statement in its own transaction, so that the server never waits for this
 * process while it holds a lock; the first thing that it does is to check the epoch and increment the head.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { StoreError } from '../store-error.js'
import { cyclesOf, packChanges, PartJoiner, type PartRow } from './changes.js'
import { JournalConnection, UnknownOutcome, type Row } from './connection.js'
import {
  originMark,
  leaseMs,
  type ApplyChanges,
  type EntryMark,
  type EnvironmentState,
  type FollowResult,
  type Journal,
  type Lease,
  type NewEntry,
} from './journal.js'
import { checkSchemaVersion } from './schema.js'

const statementMsMax = 10_000
/** Rows of at most 1 MiB that are read at a time. */
const rowsPerFetch = 16
/** For a call in progress. */
const closeMsMax = 1000
/** Removals that are pruned in one statement. */
const pruneCount = 5000
const lockNotAvailable = '55P03'

const leaseEnd = `clock_timestamp() + ${leaseMs} * interval '1 ms'`
/** After a jump of the database's clock to an earlier time, a lease ends implausibly late: it is free too. */
const leaseIsFree = `(owner is null or lease_until < clock_timestamp() or lease_until > clock_timestamp() + ${2 * leaseMs} * interval '1 ms')`

const appendStatement = `
with fenced as (
  update understudy.environment set head = head + 1, token = $4, lease_until = ${leaseEnd}
  where name = $1 and epoch = $2 and head = $3
  returning head
), entry as (
  insert into understudy.entry (environment, number, token, epoch, committed_at)
  select $1, head, $4, $2, clock_timestamp() from fenced
), cycles as (
  insert into understudy.cycle (environment, cycle_id, position)
  select $1, c.cycle_id, c.position from fenced, unnest($5::text[], $6::bigint[]) as c (cycle_id, position)
), part as (
  select kind, part, part_last, substring($7::bytea from key_at for key_bytes) as key,
    case when value_bytes < 0 then null else substring($7::bytea from value_at for value_bytes) end as value
  from unnest($8::smallint[], $9::smallint[], $10::smallint[], $11::integer[], $12::integer[], $13::integer[], $14::integer[])
    as p (kind, part, part_last, key_at, key_bytes, value_at, value_bytes)
), shortened as (
  delete from understudy.record r using fenced, part p
  where r.environment = $1 and p.part = p.part_last and r.kind = p.kind and r.key = p.key and r.part > p.part_last
), written as (
  insert into understudy.record (environment, kind, key, part, entry, value)
  select $1, p.kind, p.key, p.part, fenced.head, p.value from fenced, part p
  on conflict (environment, kind, key, part) do update set entry = excluded.entry, value = excluded.value
)
select head from fenced`

const isSynchronous = `current_setting('synchronous_standby_names') <> '' as is_synchronous`

const renewStatement = `
update understudy.environment set lease_until = ${leaseEnd} where name = $1 and epoch = $2
returning epoch, head, token, ${isSynchronous}`

const acquireStatement = `
update understudy.environment set owner = $2, epoch = epoch + 1, lease_until = ${leaseEnd}
where name = $1 and (owner = $2 or ${leaseIsFree}) returning epoch, head, token, ${isSynchronous}`

const stateStatement = `
select id, head, token, epoch, owner, ${leaseIsFree} as is_free, ${isSynchronous},
  extract(epoch from lease_until - clock_timestamp()) * 1000 as lease_ms_left
from understudy.environment where name = $1`

/**
 * The entries go first, and all of them: a view whose entry is gone reads everything again, so it cannot miss a removal. The
 * removals, of which there may be many, go in parts that end in time for the lease.
 */
const pruneStatement = `
with horizon as (
  select max(n.number) as number from understudy.entry n join understudy.environment e on e.name = n.environment
  where e.name = $1 and e.epoch = $2 and n.committed_at < clock_timestamp() - $3 * interval '1 ms'
), entries as (
  delete from understudy.entry n using horizon where n.environment = $1 and n.number < horizon.number
), removals as (
  select r.kind, r.key, r.part from understudy.record r, horizon
  where r.environment = $1 and r.entry <= horizon.number and r.value is null limit $4
), removed as (
  delete from understudy.record r using removals m
  where r.environment = $1 and r.kind = m.kind and r.key = m.key and r.part = m.part returning 1
)
select count(*) from removed`

/**
 * Connections of an environment's processes that wait for their client inside a transaction: a process that was stopped
 * between two messages holds locks. None of them is committing.
 */
const endStoppedStatement = `
select pg_terminate_backend(pid) from pg_stat_activity
where application_name = $1 and pid <> pg_backend_pid() and wait_event = 'ClientRead' and backend_xid is not null`

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
        await connection.query(
          `insert into understudy.environment (name, id, head, token, epoch, lease_until)
           values ($1, $2, 0, $3, 0, clock_timestamp()) on conflict do nothing`,
          [options.environment, randomUUID(), originMark.token],
        )
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
        const [row] = await connection.query(acquireStatement, [this.environment, node])
        return row === undefined ? null : leaseOf(row)
      } catch (error) {
        if (error instanceof UnknownOutcome && error.state === lockNotAvailable) await this.#endStopped()
        throw error
      }
    })
  }

  async release(epoch: number): Promise<void> {
    await this.#run((connection) =>
      connection.query(
        'update understudy.environment set owner = null, lease_until = clock_timestamp() where name = $1 and epoch = $2',
        [this.environment, epoch],
      ),
    )
  }

  state(): Promise<EnvironmentState> {
    return this.#run(async (connection) => {
      const row = await this.#environmentRow(connection)
      return {
        ...leaseOf(row),
        owner: row['owner'] === null ? null : String(row['owner']),
        leaseMsLeft: Number(row['lease_ms_left']),
        isFree: row['is_free'] === true,
      }
    })
  }

  follow(from: EntryMark, apply: ApplyChanges, partial: EntryMark | null = null): Promise<FollowResult> {
    return this.#run(async (connection) => {
      await connection.query('begin isolation level repeatable read read only')
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
       select kind, key, part, value from understudy.record where environment = $1 and entry > $2
       order by entry, kind, key, part`,
      [this.environment, from.number],
    )
    const joiner = new PartJoiner()
    for (;;) {
      const found = await connection.query(`fetch ${rowsPerFetch} from changes`)
      const rows = found as unknown as readonly PartRow[]
      const changes = rows.flatMap((row) => joiner.add(row) ?? [])
      const isLast = rows.length < rowsPerFetch
      const end = isLast ? joiner.end() : null
      if (end !== null) changes.push(end)
      await apply(changes, isLast, head)
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
      const [row] = await connection.query(
        `update understudy.environment set is_complete = false, head = 0, token = $3
         where name = $1 and epoch = $2 and (head = 0 or not is_complete) returning name`,
        [this.environment, epoch, originMark.token],
      )
      if (row === undefined)
        throw new StoreError(
          'unusable',
          `the environment ${this.environment} has data; import into a new one`,
        )
      for (const table of ['record', 'entry', 'cycle'])
        await connection.query(`delete from understudy.${table} where environment = $1`, [this.environment])
    })
  }

  async endImport(epoch: number): Promise<void> {
    const isEnded = await this.#run((connection) =>
      connection.query(
        'update understudy.environment set is_complete = true where name = $1 and epoch = $2 returning name',
        [this.environment, epoch],
      ),
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
          // A transaction that failed midway ends with its connection.
          this.#connection.drop(error)
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
      const row = await this.#environmentRow(connection)
      if (row['id'] !== this.id)
        throw new StoreError(
          'unusable',
          `the environment ${this.environment} was deleted and created again in the journal`,
        )
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
    return row
  }

  async #endStopped(): Promise<void> {
    const connection = await connect(this.#options)
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

function markOf(row: Row): EntryMark {
  return { number: Number(row['head']), token: String(row['token']) }
}

function leaseOf(row: Row): Lease {
  return { epoch: Number(row['epoch']), head: markOf(row), isSynchronous: row['is_synchronous'] === true }
}
