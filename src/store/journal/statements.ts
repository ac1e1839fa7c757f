/**
 * The statements of the journal. Each one that writes is a transaction of its own, and brings the settings that its commit
 * needs: behind PgBouncer in transaction mode, settings of a session are those of another client.
 */
import { leaseMs } from './journal.js'

/** A lock that another connection holds for longer fails the statement, before anything is committed. */
const lockMsMax = 8000
const idleInTransactionMsMax = 60_000

/** SQL of the values. A warning must arrive, and a commit waits for the disk and for a standby whatever the default is. */
const settingsOfCommit = {
  lock_timeout: `'${lockMsMax}'`,
  client_min_messages: `'warning'`,
  synchronous_commit: `case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end`,
}

/**
 * The start of a statement that writes. `from settings where in_force` puts the settings into force before a row is locked,
 * and PostgreSQL resets them after the commit.
 */
export const withSettings = `with settings as materialized (
  select (${Object.entries(settingsOfCommit)
    .map(([name, value]) => `set_config('${name}', ${value}, true)`)
    .join(' || ')}) is not null as in_force
)`

/** Begins a transaction with the same settings. */
export const beginWriting = `begin; set local statement_timeout = 0; ${Object.entries(settingsOfCommit)
  .map(([name, value]) => `select set_config('${name}', ${value}, true);`)
  .join(' ')}`

export const beginReading = `begin isolation level repeatable read read only; set local statement_timeout = 0;
set local client_min_messages = warning; set local idle_in_transaction_session_timeout = ${idleInTransactionMsMax}`

const leaseEnd = `clock_timestamp() + ${leaseMs} * interval '1 ms'`
/** After a jump of the database's clock to an earlier time, a lease ends implausibly late: it is free too. */
const leaseIsFree = `(owner is null or lease_until < clock_timestamp() or lease_until > clock_timestamp() + ${2 * leaseMs} * interval '1 ms')`

export const createStatement = `${withSettings}
insert into understudy.environment (name, id, head, token, epoch, lease_until)
select $1, $2::uuid, 0, $3::uuid, 0, clock_timestamp() from settings where in_force on conflict do nothing`

export const appendStatement = `${withSettings}, fenced as (
  update understudy.environment set head = head + 1, token = $4, lease_until = ${leaseEnd} from settings
  where in_force and name = $1 and epoch = $2 and head = $3
  returning head
), entry as (
  insert into understudy.entry (environment, number, token, epoch, committed_at)
  select $1, head, $4, $2, clock_timestamp() from fenced
), cycles as (
  insert into understudy.cycle (environment, cycle_id, position)
  select $1, c.cycle_id, c.position from fenced, unnest($5::text[], $6::bigint[]) as c (cycle_id, position)
), written as (
  insert into understudy.record (environment, kind, key, entry, value)
  select $1, c.kind, substring($7::bytea from key_at for key_bytes), fenced.head,
    case when value_bytes < 0 then null else substring($7::bytea from value_at for value_bytes) end
  from fenced, unnest($8::smallint[], $9::integer[], $10::integer[], $11::integer[], $12::integer[])
    as c (kind, key_at, key_bytes, value_at, value_bytes)
  on conflict (environment, kind, key) do update set entry = excluded.entry, value = excluded.value
)
select head from fenced`

const isSynchronous = `current_setting('synchronous_standby_names') <> '' as is_synchronous`

export const renewStatement = `${withSettings}
update understudy.environment set lease_until = ${leaseEnd} from settings
where in_force and name = $1 and epoch = $2
returning epoch, head, token, ${isSynchronous}`

const schemaVersionOfJournal = '(select version from understudy.schema_version)'

/** A newer program may have upgraded the journal in the meantime. */
export const acquireStatement = `${withSettings}
update understudy.environment set owner = $2, epoch = epoch + 1, lease_until = ${leaseEnd} from settings
where in_force and name = $1 and (owner = $2 or ${leaseIsFree}) and ${schemaVersionOfJournal} = $3
returning epoch, head, token, ${isSynchronous}`

export const releaseStatement = `${withSettings}
update understudy.environment set owner = null, lease_until = clock_timestamp() from settings
where in_force and name = $1 and epoch = $2`

/** What an owner does with the tables. */
const rights = {
  environment: ['SELECT', 'UPDATE'],
  entry: ['SELECT', 'INSERT', 'DELETE'],
  cycle: ['SELECT', 'INSERT'],
  schema_version: ['SELECT'],
  record: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
}
const rightRows = Object.entries(rights).flatMap(([table, names]) =>
  names.map((name) => `('${name}', 'understudy.${table}')`),
)

export const stateStatement = `
select id, head, token, epoch, owner, ${leaseIsFree} as is_free, ${isSynchronous},
  ${schemaVersionOfJournal} as schema_version,
  extract(epoch from lease_until - clock_timestamp()) * 1000 as lease_ms_left,
  pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only, current_user as user_name,
  (select string_agg(name || ' on ' || relation, ', ') from (values ${rightRows.join(', ')}) as needed (name, relation)
   where not has_table_privilege(relation, name)) as rights_missing
from understudy.environment where name = $1`

/**
 * The entries go first, and all of them: a view whose entry is gone reads everything again, so it cannot miss a removal. The
 * removals, of which there may be many, go in parts that end in time for the lease.
 */
export const pruneStatement = `${withSettings}, horizon as (
  select max(n.number) as number from settings, understudy.entry n join understudy.environment e on e.name = n.environment
  where in_force and e.name = $1 and e.epoch = $2 and n.committed_at < clock_timestamp() - $3 * interval '1 ms'
), entries as (
  delete from understudy.entry n using horizon where n.environment = $1 and n.number < horizon.number
), removals as (
  select r.kind, r.key from understudy.record r, horizon
  where r.environment = $1 and r.entry <= horizon.number and r.value is null limit $4
), removed as (
  delete from understudy.record r using removals m
  where r.environment = $1 and r.kind = m.kind and r.key = m.key returning 1
)
select count(*) from removed`

export const beginImportStatement = `${withSettings}
update understudy.environment set is_complete = false, head = 0, token = $3 from settings
where in_force and name = $1 and epoch = $2 and (head = 0 or not is_complete) returning name`

/** What an interrupted import has left. */
export const emptyStatements = ['record', 'entry', 'cycle'].map(
  (table) =>
    `${withSettings} delete from understudy.${table} using settings where in_force and environment = $1`,
)

export const endImportStatement = `${withSettings}
update understudy.environment set is_complete = true from settings where in_force and name = $1 and epoch = $2 returning name`

/**
 * Connections of an environment's processes that wait for their client inside a transaction: a process that was stopped
 * between two messages holds locks. None of them is committing.
 */
export const endStoppedStatement = `
select pg_terminate_backend(pid) from pg_stat_activity
where application_name = $1 and pid <> pg_backend_pid() and wait_event = 'ClientRead' and backend_xid is not null`
