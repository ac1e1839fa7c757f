/**
 * The journal through a real PgBouncer in transaction mode, where each transaction may run in another session of PostgreSQL:
 * every commit has the settings that it needs, and brings none to other clients.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { cluster, connectionOptions, newEnvironment, postgresBin } from '../../../test/helpers/journals.js'
import { pgbouncerMissing, startPgBouncer } from '../../../test/helpers/pgbouncer.js'
import { bytesOf } from '../../../test/helpers/store-samples.js'
import { packPosition, packRecord } from '../records/index.js'
import type { Change } from '../records/index.js'
import { JournalConnection } from './connection.js'
import { originMark } from './journal.js'
import { PostgresJournal } from './postgres-journal.js'
import { createEnvironment, migrateJournal } from './status.js'

/** The database forgets what the journal needs, and hides warnings. */
const badDefaults = [
  'synchronous_commit = off',
  'client_min_messages = error',
  `lock_timeout = '1h'`,
  `statement_timeout = '1min'`,
]
/** Each transaction begins with the defaults of the database: no setting of a session lasts. */
const forgetful = [
  'server_reset_query = DISCARD ALL',
  'server_reset_query_always = 1',
  'default_pool_size = 2',
]

let databaseCount = 0

/** A database with these defaults, and its addresses: direct, and through PgBouncer. */
async function database(defaults: readonly string[], pooling: readonly string[]) {
  const servers = await cluster()
  const name = `pooled${++databaseCount}`
  const direct = servers.createDatabase(name)
  for (const setting of defaults) servers.sql(`alter database ${name} set ${setting}`)
  const pgbouncer = await startPgBouncer(servers.primary.port, pooling)
  onTestFinished(() => pgbouncer.dispose())
  const pooled = `postgres://postgres@127.0.0.1:${pgbouncer.port}/${name}`
  const sql = (text: string): string => servers.sql(text, undefined, name)
  const pooledSql = (text: string): string =>
    servers.sql(text, { ...servers.primary, port: pgbouncer.port }, name)
  return { name, direct, pooled, sql, pooledSql }
}

const record = (value: number): Uint8Array => packRecord(0, [bytesOf(value)])

function cycleEntry(epoch: number, after: number) {
  const cycleId = Buffer.from(`20260101T${String(after).padStart(4, '0')}`)
  const changes: Change[] = [
    { kind: 'pool', key: 0, value: record(after) },
    { kind: 'chain', key: 5, value: after % 2 === 0 ? record(after) : null },
    { kind: 'cycleIds', key: cycleId, value: packPosition(after + 1) },
  ]
  return { epoch, after, token: randomUUID(), changes }
}

/** Every statement of the journal that commits. */
async function useEverything(url: string): Promise<void> {
  const environment = newEnvironment()
  await createEnvironment(url, environment)
  const journal = await PostgresJournal.open({ url, environment, isImport: true })
  const { epoch } = (await journal.acquire('node')) ?? expect.fail('the lease is taken')
  await journal.beginImport(epoch)
  expect(await journal.append(cycleEntry(epoch, 0))).toBe(true)
  await journal.beginImport(epoch)
  for (const after of [0, 1, 2, 3]) expect(await journal.append(cycleEntry(epoch, after))).toBe(true)
  await journal.endImport(epoch)
  expect(await journal.renew(epoch)).toMatchObject({ head: { number: 4 } })
  expect(await journal.prune(epoch, 0)).toBe(true)
  const changes: Change[] = []
  await journal.follow(originMark, (some) => Promise.resolve(void changes.push(...some)))
  expect(changes.filter(({ kind }) => kind === 'pool')).toEqual([{ kind: 'pool', key: 0, value: record(3) }])
  await journal.release(epoch)
  expect(await journal.state()).toMatchObject({ owner: null, isFree: true, problem: null })
  await journal.close()
}

const tables = ['environment', 'entry', 'cycle', 'record']

/** Lets each commit note the settings in force: a deferred trigger runs when the transaction commits. */
function noteSettings(sql: (text: string) => string): void {
  sql(`create table noted (relation text, synchronous_commit text, client_min_messages text, lock_timeout text);
    create function note() returns trigger language plpgsql as $$ begin
      insert into noted values (tg_op || ' ' || tg_table_name, current_setting('synchronous_commit'),
        current_setting('client_min_messages'), current_setting('lock_timeout'));
      return null;
    end $$`)
  for (const table of tables)
    sql(
      `create constraint trigger note after insert or update or delete on understudy.${table}
       deferrable initially deferred for each row execute function note()`,
    )
}

describe.skipIf(postgresBin === null || pgbouncerMissing)('the journal behind PgBouncer', () => {
  test.each(['directly', 'through PgBouncer'])(
    'connected %s, every commit waits for the disk and for a standby, whatever the defaults of the database are',
    async (how) => {
      const { direct, pooled, sql } = await database(badDefaults, forgetful)
      const url = how === 'directly' ? direct : pooled
      await migrateJournal(url)
      noteSettings(sql)
      await Promise.all([1, 2, 3, 4].map(() => useEverything(url)))
      expect(
        sql('select distinct synchronous_commit, client_min_messages, lock_timeout from noted').split('\n'),
      ).toEqual(['on|warning|8s'])
      const noted = sql('select distinct relation from noted order by 1').split('\n')
      expect(noted).toEqual(
        expect.arrayContaining([
          'INSERT environment',
          ...tables.slice(1).flatMap((t) => [`DELETE ${t}`, `INSERT ${t}`]),
        ]),
      )
    },
  )

  test('the tables themselves are created by a commit that waits', async () => {
    const { pooled, sql } = await database(badDefaults, forgetful)
    sql(`create table noted (value text);
      create function note() returns event_trigger language plpgsql as $$ begin
        insert into noted values (current_setting('synchronous_commit')); end $$;
      create event trigger note on ddl_command_end execute function note()`)
    await migrateJournal(pooled)
    expect(sql('select distinct value from noted')).toBe('on')
  })

  test('a database that waits for more than the disk of a standby keeps doing so', async () => {
    const { pooled, sql } = await database(['synchronous_commit = remote_apply'], forgetful)
    await migrateJournal(pooled)
    noteSettings(sql)
    await useEverything(pooled)
    expect(sql('select distinct synchronous_commit from noted')).toBe('remote_apply')
  })

  test('a commit is not reported before a standby has it, although the database does not wait by default', async () => {
    const { pooled, sql } = await database(badDefaults, forgetful)
    await migrateJournal(pooled)
    const environment = newEnvironment()
    await createEnvironment(pooled, environment)
    const journal = await PostgresJournal.open({ url: pooled, environment })
    const { epoch } = (await journal.acquire('node')) ?? expect.fail('the lease is taken')
    const setStandbys = (change: string): void => {
      sql(`alter system ${change}`)
      sql('select pg_reload_conf()')
    }
    setStandbys(`set synchronous_standby_names = 'nobody'`)
    onTestFinished(() => setStandbys('reset synchronous_standby_names'))
    let isReported = false
    const appending = journal.append(cycleEntry(epoch, 0)).finally(() => (isReported = true))
    const waiting = `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`
    await vi.waitFor(() => expect(sql(waiting)).toBe('1'), 9000)
    expect(isReported).toBe(false)
    setStandbys('reset synchronous_standby_names')
    expect(await appending).toBe(true)
    await journal.close()
  })

  test('other clients of the pool keep their own settings', async () => {
    const { pooled, pooledSql } = await database(['synchronous_commit = off'], ['default_pool_size = 1'])
    await migrateJournal(pooled)
    await useEverything(pooled)
    const names = ['synchronous_commit', 'lock_timeout', 'statement_timeout', 'client_min_messages']
    const values = names.map((name) => pooledSql(`show ${name}`))
    expect(values).toEqual(['off', '0', '0', 'notice'])
    expect(pooledSql('show idle_in_transaction_session_timeout')).toBe('0')
  })

  test('a time limit of the database that is too short is refused through PgBouncer, and lifted without it', async () => {
    const { direct, pooled } = await database([`statement_timeout = '3s'`], forgetful)
    await expect(JournalConnection.open(pooled, connectionOptions)).rejects.toThrow(
      'alter role USER set statement_timeout = 0',
    )
    const connection = await JournalConnection.open(direct, connectionOptions)
    expect(await connection.query('show statement_timeout')).toEqual([{ statement_timeout: '0' }])
    connection.close()
  })
})
