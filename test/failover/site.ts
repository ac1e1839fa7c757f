/**
 * Everything that a failover needs, on one machine: three PostgreSQL servers, three processes of one environment with a proxy to each
 * database server, and HAProxy in front, as in deploy/haproxy.cfg.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startPostgres, type PostgresCluster, type PostgresServer } from '../helpers/postgres.js'
import { executable, freePort, projectDir, ServerProcess } from '../helpers/server-process.js'
import { Proxy } from './proxies.js'

export const environment = 'failover'
const database = 'journal'

export interface SiteProcess {
  readonly server: ServerProcess
  readonly adminPort: number
  /** One for each database server. */
  readonly proxies: readonly Proxy[]
  isRunning: boolean
}

export class Site {
  readonly processes: SiteProcess[] = []
  /** The database server that accepts writes. */
  primary: PostgresServer
  port = 0
  readonly #cluster: PostgresCluster
  readonly #directory = mkdtempSync(join(tmpdir(), 'understudy-site-'))
  #haproxy: ChildProcess | null = null

  private constructor(cluster: PostgresCluster) {
    this.#cluster = cluster
    this.primary = cluster.primary
  }

  static async start(bin: string): Promise<Site> {
    const cluster = await startPostgres(bin, 2)
    const site = new Site(cluster)
    const url = cluster.createDatabase(database)
    const { status, stderr } = spawnSync(executable, ['journal', 'migrate'], {
      env: { ...process.env, UNDERSTUDY_JOURNAL: url },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stderr)
    for (let i = 0; i < 3; i++) site.processes.push(await site.#newProcess())
    await Promise.all(site.processes.map((each) => site.run(each)))
    await site.#startHaproxy()
    await site.ready(60_000)
    return site
  }

  get databases(): readonly PostgresServer[] {
    return this.#cluster.servers
  }

  sql(text: string, server: PostgresServer = this.primary): string {
    return this.#cluster.sql(text, server, database)
  }

  /** Starts a process, again and again until the journal can be reached. */
  async run(process: SiteProcess): Promise<void> {
    for (;;) {
      try {
        await process.server.start()
        process.isRunning = true
        return
      } catch (error) {
        if (!String(error).includes('journal')) throw error
        await delay(500)
      }
    }
  }

  /** The process that is ready, or null. */
  async owner(): Promise<SiteProcess | null> {
    for (const process of this.processes) if (await isReady(process.adminPort)) return process
    return null
  }

  /** Waits until a process is ready. Returns the milliseconds. */
  async ready(msMax: number): Promise<number> {
    const startedAt = performance.now()
    while ((await this.owner()) === null) {
      if (performance.now() - startedAt > msMax) throw new Error(`nobody is ready after ${msMax} ms`)
      await delay(50)
    }
    return performance.now() - startedAt
  }

  /** Makes the standby with most of the log the primary; the other one follows it. */
  promote(): void {
    const standbys = this.databases.filter((server) => server !== this.primary)
    const received = (server: PostgresServer): number =>
      Number(this.sql(`select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')`, server))
    const [next, ...others] = standbys.sort((a, b) => received(b) - received(a))
    if (next === undefined) throw new Error('there is no standby')
    next.promote()
    this.primary = next
    this.#nameStandbys()
    for (const other of others) this.#follow(other)
  }

  /** Replaces a server that is no standby of the primary by a copy of the primary. */
  rebuild(server: PostgresServer): void {
    server.stop()
    this.#cluster.copy(this.primary, server, this.#nameOf(server))
  }

  #nameOf(server: PostgresServer): string {
    return `db${this.databases.indexOf(server)}`
  }

  #nameStandbys(): void {
    const names = this.databases
      .filter((server) => server !== this.primary)
      .map((server) => this.#nameOf(server))
    this.sql(`alter system set synchronous_standby_names = 'ANY 1 (${names.join(', ')})'`)
    this.sql('select pg_reload_conf()')
  }

  #follow(server: PostgresServer): void {
    const source = `host=127.0.0.1 port=${this.primary.port} user=postgres application_name=${this.#nameOf(server)}`
    this.sql(`alter system set primary_conninfo = '${source}'`, server)
    this.sql('select pg_reload_conf()', server)
  }

  async #newProcess(): Promise<SiteProcess> {
    const proxies = await Promise.all(this.databases.map(({ port }) => Proxy.to(port)))
    const adminPort = await freePort()
    const hosts = proxies.map(({ port }) => `127.0.0.1:${port}`).join(',')
    const server = new ServerProcess({
      UNDERSTUDY_JOURNAL: `postgres://postgres@${hosts}/${database}`,
      UNDERSTUDY_ENVIRONMENT: environment,
      UNDERSTUDY_ADMIN_PORT: String(adminPort),
    })
    return { server, adminPort, proxies, isRunning: false }
  }

  async #startHaproxy(): Promise<void> {
    this.port = await freePort()
    const file = join(this.#directory, 'haproxy.cfg')
    let config = readFileSync(join(projectDir, 'deploy', 'haproxy.cfg'), 'utf8').replace(
      '127.0.0.1:8080',
      `127.0.0.1:${this.port}`,
    )
    this.processes.forEach(({ server, adminPort }, i) => {
      config = config.replace(`10.0.0.${i + 1}:8080 port 8081`, `127.0.0.1:${server.port} port ${adminPort}`)
    })
    writeFileSync(file, config)
    this.#haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  }

  async remove(): Promise<void> {
    this.#haproxy?.kill('SIGKILL')
    for (const { server, proxies } of this.processes) {
      if (server.pid !== undefined) signal(server.pid, 'SIGCONT')
      await server.dispose()
      proxies.forEach((proxy) => proxy.close())
    }
    this.#cluster.remove()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

async function isReady(adminPort: number): Promise<boolean> {
  try {
    const { status } = await fetch(`http://127.0.0.1:${adminPort}/readyz`, {
      signal: AbortSignal.timeout(1000),
    })
    return status === 200
  } catch {
    return false
  }
}

/** Sends a signal to a process that may have ended. */
export function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
