/**
 * The journal as its operators see it: environments with their owners, and the servers that confirm commits.
 */
import { JournalConnection, type JournalServer } from './connection.js'
import { PostgresJournal } from './postgres-journal.js'
import { checkSchemaVersion, journalSchemaVersion, migrateSchema } from './schema.js'

export interface EnvironmentStatus {
  readonly environment: string
  /** Host and data directory of the process; null: nobody holds the lease. */
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
  /** Of PostgreSQL: sync, quorum, potential or async; null: the user lacks the role pg_monitor. */
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
      `select application_name, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn) as lag
       from pg_stat_replication order by application_name`,
    )
    const environments = await connection.query(
      `select e.name, e.owner, e.epoch, e.head, e.is_complete,
         extract(epoch from e.lease_until - clock_timestamp()) as lease_left,
         extract(epoch from clock_timestamp() - n.committed_at) as age,
         (select count(*) from understudy.cycle c where c.environment = e.name) as cycles,
         (select cycle_id from understudy.cycle c where c.environment = e.name order by position desc limit 1) as last_cycle
       from understudy.environment e
       left join understudy.entry n on n.environment = e.name and n.number = e.head order by e.name`,
    )
    return {
      servers,
      schemaVersion: journalSchemaVersion,
      synchronousStandbys: String(server?.['names']),
      standbys: standbys.map((row) => ({
        name: String(row['application_name']),
        syncState: row['sync_state'] === null ? null : String(row['sync_state']),
        lagBytes: row['lag'] === null ? null : Number(row['lag']),
      })),
      environments: environments.map((row) => ({
        environment: String(row['name']),
        owner: row['owner'] === null ? null : String(row['owner']).replace(/#.*$/, ''),
        epoch: Number(row['epoch']),
        entry: Number(row['head']),
        entryAgeS: row['age'] === null ? null : Math.round(Number(row['age'])),
        leaseSLeft: Math.max(0, Math.round(Number(row['lease_left']))),
        cycles: Number(row['cycles']),
        lastCycleId: row['last_cycle'] === null ? null : String(row['last_cycle']),
        isComplete: row['is_complete'] === true,
      })),
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

/** Creates an environment without data. Rejects with a StoreError; it may exist already. */
export async function createEnvironment(url: string, environment: string): Promise<void> {
  const journal = await PostgresJournal.open({ url, environment, create: true })
  await journal.close()
}
