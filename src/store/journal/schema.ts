/**
 * The tables of the journal in PostgreSQL, as versioned migrations. All environments of a database share the tables.
 *
 *   environment  one row per environment: its newest entry (`head`, `token`), and its owner with the lease
 *   entry        one row per commit, numbered 1, 2, 3, … without gaps. The token is random: two commits of one number, one of
 *                which was lost in a failover, have different tokens
 *   cycle        one row per cycle that was ever stored: no id is stored twice
 *   record       the records of the store (src/store/records), each with the entry that wrote it last. A removed record stays
 *                without a value, as long as the entry that removed it
 */
import { schemaProblem } from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { JournalConnection } from './connection.js'
import { beginWriting } from './statements.js'

/** Versions 1 to 5 were never released. Migration i leads to version i + 6. Migrations that were released never change. */
const migrations: readonly string[] = [
  `create table understudy.environment (
     name text primary key,
     id uuid not null,
     head bigint not null,
     token uuid not null,
     epoch bigint not null,
     owner text,
     lease_until timestamptz not null,
     -- False while an import is in progress, or was interrupted.
     is_complete boolean not null default true
   );
   create table understudy.entry (
     environment text not null references understudy.environment,
     number bigint not null,
     token uuid not null,
     epoch bigint not null,
     committed_at timestamptz not null,
     primary key (environment, number)
   );
   create table understudy.cycle (
     environment text not null references understudy.environment,
     cycle_id text not null,
     position bigint not null,
     primary key (environment, cycle_id)
   );
   create table understudy.record (
     environment text not null references understudy.environment,
     kind smallint not null,
     key bytea not null,
     entry bigint not null,
     value bytea,
     primary key (environment, kind, key)
   );
   create index record_entry on understudy.record (environment, entry);
   create index record_removed on understudy.record (environment, entry) where value is null;
   -- Large values are already compressed.
   alter table understudy.record alter column value set storage external;`,
]

const schemaVersionMin = 6
export const journalSchemaVersion = schemaVersionMin - 1 + migrations.length

/** The version of the schema; 0 if there is none. */
async function readSchemaVersion(connection: JournalConnection): Promise<number> {
  const [table] = await connection.query(
    `select to_regclass('understudy.schema_version') is not null as exists`,
  )
  if (table?.['exists'] !== true) return 0
  const [row] = await connection.query('select version from understudy.schema_version')
  return Number(row?.['version'] ?? 0)
}

/** Creates the schema or brings it to the version of this program. Returns both versions. */
export async function migrateSchema(
  connection: JournalConnection,
): Promise<{ readonly from: number; readonly to: number }> {
  await connection.query(beginWriting)
  await connection.query('create schema if not exists understudy')
  await connection.query(
    'create table if not exists understudy.schema_version (version integer not null, id integer primary key default 1 check (id = 1))',
  )
  await connection.query('insert into understudy.schema_version (version) values (0) on conflict do nothing')
  // Of two concurrent migrations, the second waits here.
  const [row] = await connection.query('select version from understudy.schema_version for update')
  const from = Number(row?.['version'])
  checkSupported(from)
  for (const migration of migrations.slice(Math.max(0, from - schemaVersionMin + 1)))
    await connection.query(migration)
  await connection.query('update understudy.schema_version set version = $1', [journalSchemaVersion])
  await connection.query('commit')
  return { from, to: journalSchemaVersion }
}

/** Throws a StoreError `unusable` for a schema of another version. */
export async function checkSchemaVersion(connection: JournalConnection): Promise<void> {
  const version = await readSchemaVersion(connection)
  checkSupported(version)
  if (version < journalSchemaVersion)
    throw new StoreError(
      'unusable',
      `the journal has ${version === 0 ? 'no schema' : `schema version ${version}`}; run: understudy journal migrate`,
    )
}

/** 0: there is no schema yet. */
function checkSupported(version: number): void {
  if (version > journalSchemaVersion || (version > 0 && version < schemaVersionMin))
    throw new StoreError('unusable', `the journal ${schemaProblem('journal', version, journalSchemaVersion)}`)
}
