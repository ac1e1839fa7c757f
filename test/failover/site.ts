/**
 * Everything of a deployment on one machine: three service processes, three databases, HAProxy in front, and proxies between
 * all of them.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { executable, freePort } from '../harness/server.js'
import { user } from './database.js'
import { Databases, type DatabasesOptions } from './databases.js'
import { HaProxy } from './haproxy.js'
import type { StoredJournal } from './history.js'
import { Service, type Env } from './service.js'

const execute = promisify(execFile)
const names = ['process1', 'process2', 'process3']
/** A table before those that refer to it. */
const journalTables = ['environment', 'entry', 'cycle', 'record']
/** For all roles to be as they should. */
const settleMsMax = 120_000
const healthMsMax = 2000

export class Site {
  readonly databases: Databases
  readonly port: number
  services: readonly Service[] = []
  #env: Env | null = null
  #haproxy: HaProxy | null = null

  private constructor(databases: Databases, port: number) {
    this.databases = databases
    this.port = port
  }

  static async start(bin: string, options: DatabasesOptions): Promise<Site> {
    return new Site(await Databases.start(bin, options), await freePort())
  }

  /** Starts processes of a new environment, in a database of its own, in place of those before. */
  async useNewEnvironment(number: number, timeMs: number): Promise<void> {
    const before = this.#env
    await this.#endEnvironment()
    if (before !== null) await this.databases.primary.sql(`drop database ${before.database} with (force)`)
    const env = { database: `journal${number}`, environment: `environment-${number}` }
    await this.databases.primary.sql(`create database ${env.database}`)
    this.#env = env
    await this.#command('journal', 'migrate')
    await this.#command('journal', 'create', env.environment)
    const services: Service[] = []
    this.services = services
    for (const name of names) services.push(await Service.create(name, this.databases.servers, env))
    for (const service of services) service.timeMs = timeMs
    this.#haproxy = await HaProxy.start(this.port, services)
    await Promise.all(services.map((service) => service.start()))
    await this.settle()
  }

  get key(): string {
    return this.services[0]?.server.key ?? ''
  }

  /** The process that is ready; waits until there is one. */
  async owner(): Promise<Service> {
    const deadline = performance.now() + settleMsMax
    while (performance.now() < deadline) {
      for (const service of this.services) if ((await service.role()) === 'owner') return service
      await delay(50)
    }
    throw new Error('no process is ready')
  }

  async standbys(): Promise<readonly Service[]> {
    const owner = await this.owner()
    return this.services.filter((service) => service !== owner)
  }

  /** Resolves when one process is ready, the others are standbys, HAProxy uses it, and the databases replicate. */
  async settle(): Promise<void> {
    await this.databases.settle()
    const deadline = performance.now() + settleMsMax
    for (;;) {
      const roles = await Promise.all(this.services.map((service) => service.role()))
      const owners = roles.filter((role) => role === 'owner').length
      const isServing = await this.#isServing()
      if (owners === 1 && !roles.includes(null) && isServing) return
      if (performance.now() > deadline)
        throw new Error(
          `the roles are ${roles.join(', ')}; HAProxy ${isServing ? 'serves' : 'does not serve'}`,
        )
      await delay(50)
    }
  }

  async #isServing(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(healthMsMax)
      const response = await fetch(`http://127.0.0.1:${this.port}/v1/health`, { signal })
      await response.body?.cancel()
      return response.status === 200
    } catch {
      return false
    }
  }

  /** What the journal holds of the environment. */
  async stored(): Promise<StoredJournal> {
    const { database, environment } = this.#env!
    const rows = async (columns: string, table: string): Promise<string[][]> => {
      const where = `environment = '${environment}' order by ${columns.split(',')[1] ?? ''}`
      const text = await this.databases.primary.sql(
        `select ${columns} from understudy.${table} where ${where}`,
        database,
      )
      return text === '' ? [] : text.split('\n').map((line) => line.split('|'))
    }
    const cycles = await rows('cycle_id,position', 'cycle')
    const entries = await rows('epoch,number', 'entry')
    return {
      cycles: cycles.map(([cycleId = '', position]) => ({ cycleId, position: Number(position) })),
      entries: entries.map(([epoch, number]) => ({ epoch: Number(epoch), number: Number(number) })),
    }
  }

  /** Copies the tables of the journal, for `restoreJournal`. */
  async saveJournal(): Promise<void> {
    const copies = journalTables.map((table) => `create table saved.${table} as table understudy.${table};`)
    await this.#sql(`begin; create schema saved; ${copies.join(' ')} commit`)
  }

  /** As a recovery of PostgreSQL to an earlier time. */
  async restoreJournal(): Promise<void> {
    const removals = journalTables.toReversed().map((table) => `delete from understudy.${table};`)
    const copies = journalTables.map((table) => `insert into understudy.${table} table saved.${table};`)
    await this.#sql(`begin; ${removals.join(' ')} ${copies.join(' ')} drop schema saved cascade; commit`)
  }

  /** As after seven days. */
  async pruneJournal(): Promise<void> {
    await this.#sql(
      `with head as (select name, head from understudy.environment), pruned as (
         delete from understudy.entry n using head where n.environment = head.name and n.number < head.head)
       delete from understudy.record r using head
       where r.environment = head.name and r.entry < head.head and r.value is null`,
    )
  }

  /** Stores one outcome, with a connection that no history records. */
  async storeOutcome(placementId: string): Promise<void> {
    const outcome = {
      placement_id: placementId,
      gall_id: 'a',
      post_no: 1,
      tier: 'main',
      placed_at: '2026-01-01T00:00:00+09:00',
      picked_by: { type: 'operator' },
      readings: [],
    }
    const response = await fetch(`http://127.0.0.1:${this.port}/v1/outcomes`, {
      method: 'POST',
      headers: { Authorization: this.key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ outcomes: [outcome] }),
    })
    if (response.status !== 200)
      throw new Error(`an outcome got ${response.status}: ${await response.text()}`)
  }

  /** Resolves when all processes have read the journal to its head. */
  async settleViews(): Promise<void> {
    const deadline = performance.now() + settleMsMax
    const head = await this.#sql('select head from understudy.environment')
    for (;;) {
      const entries = await Promise.all(this.services.map((service) => service.newestEntry()))
      if (entries.every((entry) => entry >= Number(head))) return
      if (performance.now() > deadline)
        throw new Error(`the views are at ${entries.join(', ')}, and not at ${head}`)
      await delay(50)
    }
  }

  #sql(text: string): Promise<string> {
    return this.databases.primary.sql(text, this.#env!.database)
  }

  /** Copies the journal to a data directory, and verifies it. Rejects with what is wrong. */
  async verifyExport(): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'understudy-failover-export-'))
    try {
      const target = join(directory, 'data')
      await this.#command('journal', 'export', target, '--environment', this.#env!.environment)
      await this.#command('verify', '--data-dir', target, '--all-images')
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }

  /** The end of the log of each process, without requests. */
  logs(): string {
    const isMeant = (line: string): boolean => !/"msg":"(request|cycle (scored|repeated))"/.test(line)
    const end = (text: string): string => text.split('\n').filter(isMeant).slice(-25).join('\n')
    return this.services.map(({ name, server }) => `---- ${name}\n${end(server.log)}`).join('\n')
  }

  async dispose(): Promise<void> {
    await this.#endEnvironment()
    await this.databases.dispose()
  }

  async #endEnvironment(): Promise<void> {
    this.#haproxy?.dispose()
    this.#haproxy = null
    await Promise.all(this.services.map((service) => service.dispose()))
    this.services = []
  }

  async #command(...args: readonly string[]): Promise<void> {
    const { database } = this.#env!
    const journal = `postgres://${user}@127.0.0.1:${this.databases.primary.port}/${database}`
    const env = { ...process.env, UNDERSTUDY_JOURNAL: journal }
    try {
      await execute(executable, args, { env, timeout: settleMsMax })
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`understudy ${args.join(' ')}: ${stdout}${stderr}`, { cause: error })
    }
  }
}
