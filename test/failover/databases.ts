/**
 * Three PostgreSQL servers, a primary and two standbys of which one must confirm each commit, with proxies between them, and
 * what an operator or Patroni does with them: promotion, and the return of a server as a standby.
 */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../harness/server.js'
import { Database, run, user } from './database.js'
import { Proxy } from './proxy.js'

const names = ['server1', 'server2', 'server3']
const fakeTimeFile = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
/** A standby that does not follow the primary after this time gets a new copy. */
const followMsMax = 15_000

const settings = [
  "listen_addresses = '127.0.0.1'",
  'shared_buffers = 32MB',
  'max_connections = 60',
  'wal_level = replica',
  'hot_standby = on',
  'max_wal_senders = 10',
  'wal_keep_size = 128MB',
  'min_wal_size = 64MB',
  'max_wal_size = 128MB',
  'wal_log_hints = on',
  'wal_sender_timeout = 5s',
  'wal_receiver_timeout = 5s',
  'wal_retrieve_retry_interval = 300ms',
]

export interface DatabasesOptions {
  /** Whether a commit waits for a standby. False only to show that the checker finds what is then lost. */
  readonly isSynchronous: boolean
  /** Whether clocks can be set, which needs libfaketime. */
  readonly hasClocks: boolean
}

export class Databases {
  readonly servers: readonly Database[]
  primary: Database
  /** The proxy through which `from` reads the log of `to`. */
  readonly #links = new Map<string, Proxy>()
  readonly #options: DatabasesOptions

  private constructor(servers: readonly Database[], options: DatabasesOptions) {
    this.servers = servers
    this.primary = servers[0]!
    this.#options = options
  }

  static async start(bin: string, options: DatabasesOptions): Promise<Databases> {
    const fakeTime = options.hasClocks && existsSync(fakeTimeFile) ? fakeTimeFile : null
    const servers: Database[] = []
    for (const name of names) {
      const directory = mkdtempSync(join(tmpdir(), `understudy-failover-${name}-`))
      chmodSync(directory, 0o755)
      if (process.getuid?.() === 0) execFileSync('chown', [user, directory])
      servers.push(
        new Database({ bin, name, port: await freePort(), dataDir: join(directory, 'data'), fakeTime }),
      )
    }
    const databases = new Databases(servers, options)
    for (const from of servers)
      for (const to of servers)
        if (from !== to) databases.#links.set(`${from.name} ${to.name}`, await Proxy.start(to.port))
    const { primary } = databases
    await run(primary.program('initdb'), [
      ...['-D', primary.dataDir, '-U', user, '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'],
    ])
    const socketDir = `unix_socket_directories = ''`
    appendFileSync(join(primary.dataDir, 'postgresql.conf'), `\n${[...settings, socketDir].join('\n')}\n`)
    databases.#configure(primary)
    await primary.start()
    await Promise.all(databases.standbys.map((standby) => databases.#copy(standby)))
    await databases.settle()
    return databases
  }

  get standbys(): readonly Database[] {
    return this.servers.filter((server) => server !== this.primary)
  }

  link(from: Database, to: Database): Proxy {
    const link = this.#links.get(`${from.name} ${to.name}`)
    if (link === undefined) throw new Error(`no link from ${from.name} to ${to.name}`)
    return link
  }

  /** All links of a server, in both directions. */
  linksOf(server: Database): Proxy[] {
    return [...this.#links].filter(([key]) => key.split(' ').includes(server.name)).map(([, link]) => link)
  }

  /**
   * Makes the standby that has more of the log the primary. The old primary must have been stopped, or be unreachable. Both
   * standbys must run: with one of two it is unknown whether it has every commit.
   */
  async promote(): Promise<void> {
    const candidates = await Promise.all(
      this.standbys.map(async (server) => ({
        server,
        received: BigInt(
          await server.sql(`select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint`),
        ),
      })),
    )
    const [first, second] = candidates as [(typeof candidates)[number], (typeof candidates)[number]]
    const [promoted, follower] =
      first.received >= second.received ? [first.server, second.server] : [second.server, first.server]
    await promoted.control('promote')
    this.primary = promoted
    this.#configure(promoted)
    await promoted.control('reload')
    this.#configure(follower)
    await follower.control('reload')
    // pg_rewind looks for the time line in the last checkpoint.
    await promoted.sql('checkpoint')
  }

  /** Starts a server that has stopped, as a standby: the primary of earlier is rewound, or gets a new copy. */
  async rejoin(server: Database): Promise<void> {
    const source = `host=127.0.0.1 port=${this.primary.port} user=${user} dbname=postgres`
    try {
      const args = ['-D', server.dataDir, '--source-server', source, '--no-sync']
      await run(server.program('pg_rewind'), args)
      this.#beStandby(server)
      await server.start()
    } catch {
      await this.#copy(server)
    }
  }

  /** Resolves when both standbys follow the primary. One that cannot gets a new copy. */
  async settle(): Promise<void> {
    let deadline = performance.now() + followMsMax
    for (;;) {
      const query = `select application_name from pg_stat_replication where state = 'streaming'`
      const following = (await this.primary.sql(query).catch(() => '')).split('\n')
      const missing = this.standbys.filter(({ name }) => !following.includes(name))
      if (missing.length === 0) return
      if (performance.now() > deadline) {
        for (const server of missing) await this.#copy(server)
        deadline = performance.now() + followMsMax
      }
      await delay(100)
    }
  }

  async dispose(): Promise<void> {
    for (const link of this.#links.values()) link.close()
    await Promise.all(this.servers.map((server) => server.dispose()))
  }

  async #copy(server: Database): Promise<void> {
    if (server.isRunning) await server.kill()
    for (const name of readdirSync(server.dataDir)) rmSync(join(server.dataDir, name), { recursive: true })
    const source = `host=127.0.0.1 port=${this.primary.port} user=${user}`
    const args = ['-D', server.dataDir, '-d', source, '-c', 'fast', '--no-sync']
    await run(server.program('pg_basebackup'), args)
    this.#beStandby(server)
    await server.start()
  }

  #beStandby(server: Database): void {
    writeFileSync(join(server.dataDir, 'standby.signal'), '')
    this.#configure(server)
  }

  #configure(server: Database): void {
    const { isSynchronous } = this.#options
    const common = { synchronous_standby_names: isSynchronous ? `ANY 1 (${names.join(', ')})` : '' }
    if (server === this.primary) {
      server.configure(common)
      return
    }
    const { port } = this.link(server, this.primary)
    const source = `host=127.0.0.1 port=${port} user=${user} application_name=${server.name} connect_timeout=3`
    server.configure({ ...common, primary_conninfo: source })
  }
}
