/**
 * The journal on a real PostgreSQL: what the server refuses, and which server of the address is used.
 */
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { entry, lease, newJournal, pool } from '../../../test/helpers/journal-entries.js'
import { cluster, journalUrl, newEnvironment, postgresBin } from '../../../test/helpers/journals.js'
import { originMark, Refusal } from './journal.js'
import { PostgresJournal } from './postgres-journal.js'

describe.skipIf(postgresBin === null)('the server of the journal', () => {
  describe('refusals', () => {
    const cycleId = '20260101T0007'

    test('a row that contradicts a write refuses it by name, each time, and costs neither connection nor epoch', async () => {
      const servers = await cluster()
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      const name = journal.environment
      const sql = (text: string): string => servers.sql(text, undefined, 'journal')
      sql(`insert into understudy.cycle values ('${name}', '${cycleId}', 1)`)
      const application = `understudy ${name}`.slice(0, 63)
      const connections = `select pid from pg_stat_activity where application_name = '${application}'`
      const before = sql(connections)
      for (let attempt = 0; attempt < 2; attempt++) {
        const refused = journal.append(entry(epoch, 0, [pool(1)], [cycleId]))
        await expect(refused).rejects.toThrow(Refusal)
        await expect(refused).rejects.toMatchObject({ isOfAllWrites: false })
        await expect(refused).rejects.toThrow(cycleId)
        await expect(refused).rejects.toThrow('remove it, or restore the journal from a backup')
      }
      expect(await journal.state()).toMatchObject({ epoch, head: { number: 0 } })
      expect(await journal.append(entry(epoch, 0, [pool(1)], ['20260101T0008']))).toBe(true)
      expect(sql(connections)).toBe(before)
      sql(`delete from understudy.cycle where environment = '${name}' and cycle_id = '${cycleId}'`)
      expect(await journal.append(entry(epoch, 1, [pool(1)], [cycleId]))).toBe(true)
      await journal.close()
    })

    test('data that the server cannot store, and missing rights, are refusals; the second ones of all writes', async () => {
      const servers = await cluster()
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      // Text of PostgreSQL has no NUL: class 22.
      await expect(journal.append(entry(epoch, 0, [pool(1)], ['20260101\0']))).rejects.toMatchObject({
        name: 'StoreError',
        code: 'failed',
        isOfAllWrites: false,
      })
      const url = new URL(servers.url('journal', servers.primary))
      url.username = 'writer'
      servers.sql('create user writer', undefined, 'journal')
      servers.sql('grant usage on schema understudy to writer', undefined, 'journal')
      servers.sql('grant select, update on understudy.environment to writer', undefined, 'journal')
      const writer = await PostgresJournal.open({ url: url.href, environment: journal.environment }).catch(
        String,
      )
      expect(writer).toContain('permission denied for table schema_version')
      servers.sql('grant select on understudy.schema_version to writer', undefined, 'journal')
      const limited = await PostgresJournal.open({ url: url.href, environment: journal.environment })
      await expect(limited.append(entry(epoch, 0, [pool(1)]))).rejects.toMatchObject({ isOfAllWrites: true })
      expect((await limited.state()).problem).toBe(
        'the user writer cannot write to the journal: it lacks SELECT on understudy.entry, INSERT on understudy.entry, ' +
          'DELETE on understudy.entry, SELECT on understudy.cycle, INSERT on understudy.cycle, SELECT on understudy.record, ' +
          'INSERT on understudy.record, UPDATE on understudy.record, DELETE on understudy.record; it must own the database',
      )
      servers.sql('grant all on all tables in schema understudy to writer', undefined, 'journal')
      expect((await limited.state()).problem).toBeNull()
      expect(await limited.append(entry(epoch, 0, [pool(1)]))).toBe(true)
      await Promise.all([journal.close(), limited.close()])
    })

    test('a refusal within a transaction ends the connection, so that no transaction stays open', async () => {
      const journal = await newJournal()
      const { epoch } = await lease(journal)
      await journal.append(entry(epoch, 0, [pool(1)]))
      const refusal = new Refusal('refused', false, null)
      await expect(journal.follow(originMark, () => Promise.reject(refusal))).rejects.toBe(refusal)
      const opened = `select count(*) from pg_stat_activity where state like 'idle in transaction%'`
      await vi.waitFor(async () => expect((await cluster()).sql(opened)).toBe('0'), 5000)
      expect(await journal.append(entry(epoch, 1, [pool(2)]))).toBe(true)
      await journal.close()
    })

    test('a database that is read-only by default is named', async () => {
      const servers = await cluster()
      const journal = await newJournal()
      const url = await journalUrl()
      servers.sql(`alter database journal set default_transaction_read_only = on`)
      const reader = await PostgresJournal.open({ url, environment: journal.environment })
      servers.sql(`alter database journal reset default_transaction_read_only`)
      expect((await reader.state()).problem).toContain('read-only')
      expect((await journal.state()).problem).toBeNull()
      await Promise.all([journal.close(), reader.close()])
    })
  })

  describe('several servers', () => {
    test('after a dropped connection, the next server of the address is tried first, and after the last one the first', async () => {
      const { port } = (await cluster()).primary
      const accepted: number[] = []
      const proxies = await Promise.all(
        [0, 1, 2].map(async (index) => {
          const server = createServer((socket) => {
            accepted.push(index)
            const upstream = connect(port, '127.0.0.1')
            socket.on('error', () => upstream.destroy()).pipe(upstream)
            upstream.on('error', () => socket.destroy()).pipe(socket)
          })
          onTestFinished(() => void server.close())
          await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
          return (server.address() as AddressInfo).port
        }),
      )
      const hosts = proxies.map((proxy) => `127.0.0.1:${proxy}`).join(',')
      await journalUrl()
      const environment = newEnvironment()
      const journal = await PostgresJournal.open({
        url: `postgres://postgres@${hosts}/journal`,
        environment,
        create: true,
      })
      const application = `understudy ${environment}`.slice(0, 63)
      const end = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${application}'`
      for (let drop = 0; drop < 3; drop++) {
        ;(await cluster()).sql(end)
        await expect(journal.state()).rejects.toThrow()
        expect(await journal.state()).toMatchObject({ epoch: 0 })
      }
      expect(accepted).toEqual([0, 1, 2, 0])
      await journal.close()
    })
  })
})
