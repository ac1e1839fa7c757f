/**
 * The tables of the journal in PostgreSQL, and their upgrade from version to version. All environments of a database share the tables.
 *
 *   environment  one row per environment: its newest entry (`head`, `token`), and its owner with the lease
 *   entry        one row per commit, numbered 1, 2, 3, … without gaps. The token is random: two commits of one number, one of
 *                which was lost in a failover, have different tokens
 *   cycle        one row per cycle that was ever stored: no id is stored twice
 *   record       the records of the store (src/store/records), each with the entry that wrote it last. A removed record stays
 *                without a value, as long as the entry that removed it
 */
import { hourMs } from '../../base/index.js'
import {
  canUpgrade,
  layoutOf,
  oldestSchema,
  schemaProblem,
  schemaVersion,
  upgradedRecords,
  upgradesFrom,
  type LayoutRecord,
} from '../records/index.js'
import { StoreError } from '../store-error.js'
import { keyFromBytes, keyToBytes } from './packed-changes.js'
import type { JournalConnection, Row } from './connection.js'
import { beginWriting } from './statements.js'

/** The tables of version 6. Later versions change them by `journalTables` of src/store/records/upgrades.ts. */
const tables = `create table understudy.environment (
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
   alter table understudy.record alter column value set storage external;`

/** Time for a statement that copies or commits all records. */
const allRecordsMsMax = hourMs
/** Records that are upgraded at a time. */
const rowsPerFetch = 32

/** The version of the schema; 0 if there is none. */
async function readSchemaVersion(connection: JournalConnection): Promise<number> {
  const [table] = await connection.query(
    `select to_regclass('understudy.schema_version') is not null as exists`,
  )
  if (table?.['exists'] !== true) return 0
  const [row] = await connection.query('select version from understudy.schema_version')
  return Number(row?.['version'] ?? 0)
}

/**
 * Creates the schema or upgrades it, with all records, in one transaction: until it is committed, the journal is as it was. A process
 * of an older program stops being the owner then, and reads nothing more. Returns both versions.
 */
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
  if (from > 0 && !canUpgrade(from)) checkVersion(from)
  if (from === 0) await connection.query(tables)
  const upgrades = upgradesFrom(from === 0 ? oldestSchema : from)
  for (const { journalTables } of upgrades)
    if (journalTables !== undefined) await connection.query(journalTables)
  if (from > 0 && upgrades.length > 0) await upgradeRecords(connection, from)
  await connection.query('update understudy.schema_version set version = $1', [schemaVersion])
  await connection.query('commit', [], allRecordsMsMax)
  return { from, to: schemaVersion }
}

/**
 * Writes all records again. Removed records go, and the entries with them: a view that is not at the head reads everything again.
 * The new epoch ends the lease of an owner.
 */
async function upgradeRecords(connection: JournalConnection, from: number): Promise<void> {
  await connection.query(
    `update understudy.environment set epoch = epoch + 1, owner = null, lease_until = clock_timestamp();
     delete from understudy.entry;
     create temporary table old_record on commit drop as select * from understudy.record where value is not null;
     truncate understudy.record`,
    [],
    allRecordsMsMax,
  )
  await connection.query(
    'declare old no scroll cursor for select environment, kind, key, entry, value from old_record',
  )
  for (;;) {
    const rows = await connection.query(`fetch ${rowsPerFetch} from old`)
    const upgraded = rows.flatMap((row) =>
      upgradedRecords(recordOf(row, from), from).map((record) => ({ row, record })),
    )
    await connection.query(
      `insert into understudy.record (environment, entry, kind, key, value)
       select * from unnest($1::text[], $2::bigint[], $3::smallint[], $4::bytea[], $5::bytea[])`,
      [
        upgraded.map(({ row }) => row['environment']),
        upgraded.map(({ row }) => row['entry']),
        upgraded.map(({ record }) => layoutOf(schemaVersion)[record.database]!.kindNumber),
        upgraded.map(({ record }) => Buffer.from(keyToBytes(record.key))),
        upgraded.map(({ record }) => Buffer.from(record.value)),
      ],
    )
    if (rows.length < rowsPerFetch) return
  }
}

/** A record of the journal in the layout of a version. */
function recordOf(row: Row, version: number): LayoutRecord {
  const layout = layoutOf(version)
  const [database] =
    Object.entries(layout).find(([, { kindNumber }]) => kindNumber === Number(row['kind'])) ?? []
  if (database === undefined)
    throw new StoreError('unusable', `the journal has records of kind ${String(row['kind'])}`)
  const key = keyFromBytes(layout[database]!.keyEncoding, row['key'] as Buffer)
  return { database, key, value: row['value'] as Buffer }
}

/** Throws a StoreError `unusable` for a schema of another version. */
export async function checkSchemaVersion(connection: JournalConnection): Promise<void> {
  const version = await readSchemaVersion(connection)
  if (version === 0)
    throw new StoreError('unusable', 'the journal has no schema; run: understudy journal migrate')
  checkVersion(version)
}

/** Throws a StoreError `unusable` for another version than that of this program. */
export function checkVersion(version: number): void {
  const problem = schemaProblem('journal', version)
  if (problem !== null) throw new StoreError('unusable', `the journal ${problem}`)
}
