/**
 * The journal as its operators see it: environments with their owners, and the servers that confirm commits.
 */
import { schemaVersion } from '../records/index.js'
import { JournalConnection, type JournalServer } from './connection.js'
import { PostgresJournal } from './postgres-journal.js'
import { checkSchemaVersion, migrateSchema } from './schema.js'

export interface EnvironmentStatus {
  readonly environment: string
  /** Host and data directory of the process; null: no process holds the lease. */
  readonly owner: string | null
  readonly epoch: number
  /** Number of the newest entry, and seconds since its commit; null before the first one. */
  readonly entry: number
  readonly entryAgeS: number | null
  readonly leaseSLeft: number
  readonly cycles: number
  readonly lastCycleId: string | null
  /** False: an import is in progress, or was interrupted. */
  readonly isComplete: boolean
}

export interface StandbyStatus {
  readonly name: string
  /** PostgreSQL's `sync_state`: sync, quorum, potential or async; null: the user lacks the role pg_monitor. */
  readonly syncState: string | null
  /** Bytes of the log that it has not flushed. */
  readonly lagBytes: number | null
}

export interface JournalStatus {
  /** All servers of the address. More than one primary: an old one was started again, and must be stopped. */
  readonly servers: readonly JournalServer[]
  readonly schemaVersion: number
  /** The setting synchronous_standby_names; empty: commits wait for no other server. */
  readonly synchronousStandbys: string
  readonly standbys: readonly StandbyStatus[]
  readonly environments: readonly EnvironmentStatus[]
}

const options = { msMax: 30_000, applicationName: 'understudy journal' }

/** Rejects with a StoreError. */
export async function journalStatus(url: string): Promise<JournalStatus> {
  const servers = await JournalConnection.servers(url, options)
  const connection = await JournalConnection.open(url, options)
  try {
    await checkSchemaVersion(connection)
    const [server] = await connection.query(`select current_setting('synchronous_standby_names') as names`)
    const standbys = await connection.query(
      `select application_name as name, sync_state as "syncState",
         pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::float8 as "lagBytes"
       from pg_stat_replication order by application_name`,
    )
    // 64-bit integers and numerics would be text.
    const environments = await connection.query(
      `select e.name as environment, regexp_replace(e.owner, '#.*$', '') as owner, e.epoch::float8, e.head::float8 as entry,
         round(extract(epoch from clock_timestamp() - n.committed_at))::float8 as "entryAgeS",
         greatest(0, round(extract(epoch from e.lease_until - clock_timestamp())))::float8 as "leaseSLeft",
         (select count(*) from understudy.cycle c where c.environment = e.name)::float8 as cycles,
         (select cycle_id from understudy.cycle c where c.environment = e.name order by position desc limit 1) as "lastCycleId",
         e.is_complete as "isComplete"
       from understudy.environment e
       left join understudy.entry n on n.environment = e.name and n.number = e.head order by e.name`,
    )
    return {
      servers,
      schemaVersion,
      synchronousStandbys: String(server?.['names']),
      standbys: standbys as unknown as readonly StandbyStatus[],
      environments: environments as unknown as readonly EnvironmentStatus[],
    }
  } finally {
    connection.close()
  }
}

/** Creates the schema, or brings it to the version of this program. Rejects with a StoreError. */
export async function migrateJournal(url: string): Promise<{ readonly from: number; readonly to: number }> {
  const connection = await JournalConnection.open(url, options)
  try {
    return await migrateSchema(connection)
  } finally {
    connection.close()
  }
}

/** Creates an environment without data. Rejects with a StoreError; it may already exist. */
export async function createEnvironment(url: string, environment: string): Promise<void> {
  const journal = await PostgresJournal.open({ url, environment, create: true })
  await journal.close()
}
