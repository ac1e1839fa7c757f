/**
 * The journal on a real PostgreSQL: the schema, fencing, what a reader gets, and commits of which the outcome is unknown.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { entry, lease, newJournal, pool, read, record } from '../../../test/helpers/journal-entries.js'
import {
  cluster,
  connectionOptions,
  journalUrl,
  newEnvironment,
  postgresBin,
} from '../../../test/helpers/journals.js'
import { bytesOf } from '../../../test/helpers/store-samples.js'
import { packRecord, schemaVersion, type Change } from '../records/index.js'
import { JournalConnection, UnknownOutcome } from './connection.js'
import { leaseMs, originMark, Refusal } from './journal.js'
import { PostgresJournal } from './postgres-journal.js'
import { migrateSchema } from './schema.js'

describe.skipIf(postgresBin === null)('journal on PostgreSQL', () => {
  describe('schema', () => {
    test('a database without a schema is refused until it is migrated, and a migration twice changes nothing', async () => {
      const url = (await cluster()).createDatabase('bare')
      const open = () => PostgresJournal.open({ url, environment: 'e', create: true })
      await expect(open()).rejects.toThrow('understudy journal migrate')
      const connection = await JournalConnection.open(url, connectionOptions)
      expect(await migrateSchema(connection)).toEqual({ from: 0, to: schemaVersion })
      expect(await migrateSchema(connection)).toEqual({
        from: schemaVersion,
        to: schemaVersion,
      })
      await (await open()).close()
    })

    test.each([4, 99])('a schema of version %i is refused, by a migration too', async (version) => {
      const database = `version_${version}`
      const url = (await cluster()).createDatabase(database)
      const migrate = async () => {
        const connection = await JournalConnection.open(url, connectionOptions)
        return migrateSchema(connection).finally(() => connection.close())
      }
      await migrate()
      ;(await cluster()).sql(`update understudy.schema_version set version = ${version}`, undefined, database)
      const way = version === 4 ? 'A preview of 26 to 28 November 2026 wrote it' : 'A newer program wrote it'
      const refusal = `the journal has schema version ${version}; this program supports ${schemaVersion}. ${way}`
      await expect(PostgresJournal.open({ url, environment: 'e', create: true })).rejects.toThrow(refusal)
      await expect(migrate()).rejects.toThrow(refusal)
    })

    test('a process that a newer program overtakes between two statements does not become the owner', async () => {
      const database = 'overtaken'
      const url = (await cluster()).createDatabase(database)
      const connection = await JournalConnection.open(url, connectionOptions)
      await migrateSchema(connection).finally(() => connection.close())
      const journal = await PostgresJournal.open({ url, environment: 'e', create: true })
      onTestFinished(() => journal.close())
      const newer = schemaVersion + 1
      ;(await cluster()).sql(`update understudy.schema_version set version = ${newer}`, undefined, database)
      expect(await journal.acquire('node')).toBeNull()
      await expect(journal.state()).rejects.toThrow(`schema version ${newer}`)
      await expect(journal.follow(originMark, () => Promise.resolve())).rejects.toThrow(
        `schema version ${newer}`,
      )
    })

    test('the address may name several servers, and errors never show the password', async () => {
      const { port } = (await cluster()).primary
      const url = `postgres://postgres:hush@127.0.0.1:1,127.0.0.1:${port}/none`
      const failure = await JournalConnection.open(url, connectionOptions).catch(String)
      expect(failure).toContain('127.0.0.1:1: ')
      expect(failure).toContain('database "none" does not exist')
      expect(failure).not.toContain('hush')
    })

    test('after a lost connection, the next server of the address is tried first', async () => {
      const url = await journalUrl()
      const { port } = (await cluster()).primary
      const sockets: Socket[] = []
      let count = 0
      const proxy = createServer((socket) => {
        count++
        const server = connect(port, '127.0.0.1')
        for (const each of [socket, server]) {
          sockets.push(each)
          each.on('error', () => undefined)
        }
        socket.pipe(server).pipe(socket)
      })
      await once(proxy.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void proxy.close())
      const first = (proxy.address() as AddressInfo).port
      const hosts = `127.0.0.1:${first},127.0.0.1:${port}`
      const environment = newEnvironment()
      const journal = await PostgresJournal.open({
        url: url.replace(/@[^/]*/, `@${hosts}`),
        environment,
        create: true,
      })
      onTestFinished(() => journal.close())
      expect(count).toBe(1)
      // It accepts connections again at once, as a server does that was replaced.
      for (const socket of sockets) socket.destroy()
      await journal.state().catch(() => undefined)
      expect((await journal.state()).head.number).toBe(0)
      expect(count).toBe(1)
    })

    test.each([
      'postgres://u:hush?hush@one/db',
      'postgres://u:hush/hush@one/db',
      'postgres://u:hush%zz@one:hush/db',
    ])('the address %s is refused without a part of it', async (url) => {
      const failure = await JournalConnection.open(url, connectionOptions).catch(String)
      expect(failure).toContain('percent-encoded')
      expect(failure).not.toContain('hush')
    })
  })

  describe('entries', () => {
    test('changes are read as they were committed, in the newest version only', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      const large = packRecord(0, [new Uint8Array(2_100_000).map((_, i) => i % 251)])
      const first: Change[] = [
        pool(1),
        { kind: 'requests', key: 300, value: large },
        { kind: 'outcomes', key: bytesOf(0, 255), value: record() },
      ]
      expect(await journal.append(entry(epoch, 0, first))).toBe(true)
      expect((await read(journal)).changes).toEqual(expect.arrayContaining(first))
      const second: Change[] = [pool(2), { kind: 'requests', key: 300, value: record(9) }]
      const mark = (await journal.state()).head
      expect(await journal.append(entry(epoch, 1, second))).toBe(true)
      const next = await read(journal, mark)
      expect(next.changes).toEqual(expect.arrayContaining(second))
      expect(next.result).toMatchObject({ head: { number: 2 } })
      const all = await read(journal)
      expect(all.changes).toHaveLength(3)
      expect(all.changes).toEqual(expect.arrayContaining([...second, first[2]]))
      await journal.close()
    })

    test('a removed record is read as removed, and after the pruning a reader that has not seen it starts again', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      await journal.append(entry(epoch, 0, [pool(1), { kind: 'chain', key: 5, value: record(5) }]))
      const mark = (await journal.state()).head
      await journal.append(entry(epoch, 1, [{ kind: 'chain', key: 5, value: null }]))
      await journal.append(entry(epoch, 2, [pool(3)]))
      const after = await read(journal, mark)
      expect(after.changes).toEqual([{ kind: 'chain', key: 5, value: null }, pool(3)])
      // A reader at the oldest entry that is kept reads the removal.
      const age = `update understudy.entry set committed_at = now() - interval '2 h' where environment = '${journal.environment}' and number = 1`
      ;(await cluster()).sql(age, undefined, 'journal')
      await journal.prune(epoch, 3_600_000)
      expect((await read(journal, mark)).changes).toEqual(after.changes)
      await journal.prune(epoch, 0)
      expect((await read(journal, mark)).result).toEqual({ kind: 'diverged' })
      expect((await read(journal)).changes).toEqual([pool(3)])
      expect((await read(journal, (await journal.state()).head)).result.kind).toBe('followed')
      await journal.close()
    })

    test('many removals are pruned in parts', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      const removals = Array.from({ length: 5001 }, (_, key) => ({
        kind: 'chain' as const,
        key,
        value: null,
      }))
      await journal.append(entry(epoch, 0, removals))
      await journal.append(entry(epoch, 1, [pool(2)]))
      expect(await journal.prune(epoch + 1, 0)).toBe(true)
      expect((await read(journal)).changes).toHaveLength(5002)
      expect(await journal.prune(epoch, 0)).toBe(false)
      expect((await read(journal)).changes).toHaveLength(2)
      expect(await journal.prune(epoch, 0)).toBe(true)
      expect((await read(journal)).changes).toEqual([pool(2)])
      await journal.close()
    })

    test('a cycle id is stored once, and nothing else of the second entry is stored', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      expect(await journal.append(entry(epoch, 0, [pool(1)], ['20260101T0000']))).toBe(true)
      const again = journal.append(entry(epoch, 1, [pool(2)], ['20260101T0000']))
      await expect(again).rejects.toThrow(Refusal)
      const { changes, result } = await read(journal)
      expect(changes.filter(({ kind }) => kind === 'pool')).toEqual([pool(1)])
      expect(result).toMatchObject({ head: { number: 1 } })
      await journal.close()
    })

    test('a reader of an entry that the journal does not have receives an error', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      await journal.append(entry(epoch, 0, [pool(1)]))
      const { head } = await journal.state()
      expect((await read(journal, { ...head, token: randomUUID() })).result).toEqual({ kind: 'diverged' })
      expect((await read(journal, { ...head, number: 7 })).result).toEqual({ kind: 'diverged' })
      await journal.close()
    })

    test.each(['is open', 'was lost'])(
      'an environment that was deleted and created again is another one, also for a process whose connection %s',
      async (connection) => {
        const servers = await cluster()
        const journal = await newJournal()
        const name = journal.environment
        servers.sql(`delete from understudy.environment where name = '${name}'`, undefined, 'journal')
        if (connection === 'was lost')
          await expect(journal.state()).rejects.toThrow('no longer has environment')
        const created = await newJournal(name)
        for (const use of [() => journal.state(), () => read(journal), () => journal.acquire('node')])
          await expect(use()).rejects.toThrow(`${name} was deleted and created again in the journal`)
        expect(await created.state()).toMatchObject({ epoch: 0, owner: null })
        await Promise.all([journal.close(), created.close()])
      },
    )

    test('a record replaces that of its own key, kind and environment', async () => {
      const [one, two] = await Promise.all([newJournal(), newJournal()])
      const large = packRecord(0, [new Uint8Array(2_100_000).map((_, i) => i % 251)])
      const others: Change[] = [
        { kind: 'requests', key: 2, value: large },
        { kind: 'responses', key: 1, value: large },
      ]
      const first: Change = { kind: 'requests', key: 1, value: large }
      const [{ epoch }, { epoch: otherEpoch }] = [await lease(one), await lease(two)]
      await one.append(entry(epoch, 0, [first, ...others]))
      await two.append(entry(otherEpoch, 0, [first]))
      const short: Change = { ...first, value: record(9) }
      await one.append(entry(epoch, 1, [short]))
      const { changes } = await read(one)
      expect(changes).toHaveLength(3)
      expect(changes).toEqual(expect.arrayContaining([short, ...others]))
      expect((await read(two)).changes).toEqual([first])
      await Promise.all([one.close(), two.close()])
    })

    test('pruning an environment takes no entry and no removal from another one', async () => {
      const [one, two] = await Promise.all([newJournal(), newJournal()])
      const removal: Change = { kind: 'chain', key: 5, value: null }
      const marks = []
      for (const journal of [one, two]) {
        const { epoch } = await lease(journal)
        await journal.append(entry(epoch, 0, [pool(1), { ...removal, value: record(5) }]))
        marks.push((await journal.state()).head)
        // The other environment removes a record that this one has.
        const kept = { ...removal, key: 6, value: journal === one ? record(6) : null }
        await journal.append(entry(epoch, 1, [removal, kept]))
      }
      await one.prune((await one.state()).epoch, 0)
      expect((await read(one, marks[0])).result).toEqual({ kind: 'diverged' })
      // The removal of the newest entry too: who has read it needs it no longer.
      expect((await read(one)).changes).toEqual([pool(1), { ...removal, key: 6, value: record(6) }])
      expect((await read(two, marks[1])).changes).toEqual([removal, { ...removal, key: 6 }])
      await Promise.all([one.close(), two.close()])
    })

    test('environments in one database are isolated', async () => {
      const [one, two] = await Promise.all([newJournal(), newJournal()])
      const [first, second] = [await lease(one), await lease(two)]
      await one.append(entry(first.epoch, 0, [pool(1)], ['20260101T0000']))
      await two.append(entry(second.epoch, 0, [pool(2)], ['20260101T0000']))
      expect((await read(one)).changes).toContainEqual(pool(1))
      expect((await read(two)).changes).toContainEqual(pool(2))
      await Promise.all([one.close(), two.close()])
    })
  })

  describe('lease', () => {
    test('one process holds it, another one gets it when it is released, and the first can commit nothing', async () => {
      const environment = newEnvironment()
      const [one, two] = [await newJournal(environment), await newJournal(environment)]
      const first = await lease(one, 'one')
      expect(await two.acquire('two')).toBeNull()
      expect(await two.state()).toMatchObject({ owner: 'one', isFree: false })
      await one.release(first.epoch)
      const second = await lease(two, 'two')
      expect(second.epoch).toBeGreaterThan(first.epoch)
      expect(await one.append(entry(first.epoch, 0, [pool(1)]))).toBe(false)
      expect(await one.renew(first.epoch)).toBeNull()
      expect(await two.append(entry(second.epoch, 0, [pool(2)]))).toBe(true)
      expect((await read(one)).changes).toEqual([pool(2)])
      await Promise.all([one.close(), two.close()])
    })

    test('it is free when it has expired, and when the clock of the database was set back', async () => {
      const environment = newEnvironment()
      const [one, two] = [await newJournal(environment), await newJournal(environment)]
      await lease(one, 'one')
      for (const offset of ["- interval '1 s'", "+ interval '1 h'"]) {
        const text = `update understudy.environment set lease_until = now() ${offset} where name = '${environment}'`
        ;(await cluster()).sql(text, undefined, 'journal')
        expect((await two.state()).isFree).toBe(true)
        await lease(two, 'two')
        await lease(one, 'one').catch(() => undefined)
      }
      await Promise.all([one.close(), two.close()])
    })

    test('a lease that ends later than one that was just renewed is held up to twice its time, and then free', async () => {
      const environment = newEnvironment()
      const [one, two] = [await newJournal(environment), await newJournal(environment)]
      await lease(one, 'one')
      for (const [shareOfLease, isFree] of [
        [1.5, false],
        [1.9, false],
        [2.1, true],
      ] as const) {
        const text = `update understudy.environment set lease_until = clock_timestamp() + ${shareOfLease * leaseMs} * interval '1 ms' where name = '${environment}'`
        ;(await cluster()).sql(text, undefined, 'journal')
        expect((await two.state()).isFree).toBe(isFree)
      }
      await Promise.all([one.close(), two.close()])
    })

    test('a process that starts again takes its own lease back immediately', async () => {
      const journal = await newJournal()
      const first = await lease(journal, 'one')
      expect((await lease(journal, 'one')).epoch).toBe(first.epoch + 1)
      await journal.close()
    })

    test('a process that was stopped with a lock keeps the lease from another one for one attempt', async () => {
      const url = await journalUrl()
      const environment = newEnvironment()
      const statementMsMax = 60_000
      const journal = await PostgresJournal.open({ url, environment, statementMsMax, create: true })
      const applicationName = `understudy ${environment}`.slice(0, 63)
      const stopped = await JournalConnection.open(url, { ...connectionOptions, applicationName })
      await stopped.query('begin')
      await stopped.query(`update understudy.environment set head = head where name = '${environment}'`)
      await expect(journal.acquire('node')).rejects.toThrow(UnknownOutcome)
      expect(await journal.acquire('node')).toMatchObject({ epoch: 1 })
      stopped.close()
      await journal.close()
    })

    test('an entry of an owner that is not at the head is refused', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      expect(await journal.append(entry(epoch, 3, [pool(1)]))).toBe(false)
      expect((await read(journal)).changes).toEqual([])
      await journal.close()
    })
  })

  describe('unknown outcomes', () => {
    test(
      'a commit whose wait for a standby is cancelled is not reported as stored',
      { timeout: 120_000 },
      async () => {
        const servers = await cluster(2)
        const journal = await newJournal(newEnvironment(), 2)
        const { epoch } = await lease(journal)
        const [, ...standbys] = servers.servers
        for (const standby of standbys) standby.stop()
        const appending = journal.append(entry(epoch, 0, [pool(1)]))
        appending.catch(() => undefined)
        const waiting = "from pg_stat_activity where wait_event = 'SyncRep'"
        await vi.waitFor(() => expect(servers.sql(`select count(*) ${waiting}`)).toBe('1'), 2500)
        servers.sql(`select pg_cancel_backend(pid) ${waiting}`)
        await expect(appending).rejects.toThrow(UnknownOutcome)
        // It is visible although it is on no standby; a renewal does not succeed before it is.
        expect((await journal.state()).head.number).toBe(1)
        await expect(journal.renew(epoch)).rejects.toThrow('no response within 3000 ms')
        for (const standby of standbys) standby.start()
        await vi.waitFor(
          async () => expect(await journal.renew(epoch)).toMatchObject({ head: { number: 1 } }),
          20_000,
        )
        await journal.close()
      },
    )

    test('after a connection is lost during a commit, a new one determines whether it was stored', async () => {
      const servers = await cluster()
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      const application = `understudy ${journal.environment}`.slice(0, 63)
      servers.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${application}'`,
      )
      await expect(journal.append(entry(epoch, 0, [pool(1)]))).rejects.toThrow(UnknownOutcome)
      expect(await journal.renew(epoch)).toMatchObject({ head: { number: 0 } })
      expect(await journal.append(entry(epoch, 0, [pool(1)]))).toBe(true)
      await journal.close()
    })
  })
})
