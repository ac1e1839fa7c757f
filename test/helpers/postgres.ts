/**
 * PostgreSQL servers for tests, of the installed system packages: a primary and, if asked for, two standbys of which one must
 * confirm each commit. As root they run as the user postgres, because initdb refuses root.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../harness/server.js'

const versionsDir = '/usr/lib/postgresql'
const user = 'postgres'

/** The programs of the newest PostgreSQL, 15 or later; null if there is none. */
export function findPostgres(): string | null {
  if (!existsSync(versionsDir)) return null
  const [newest] = readdirSync(versionsDir)
    .filter((name) => Number(name) >= 15 && existsSync(join(versionsDir, name, 'bin/initdb')))
    .sort((a, b) => Number(b) - Number(a))
  return newest === undefined ? null : join(versionsDir, newest, 'bin')
}

const isRoot = process.getuid?.() === 0

function run(program: string, args: readonly string[]): string {
  const [command, all] = isRoot ? ['runuser', ['-u', user, '--', program, ...args]] : [program, args]
  return execFileSync(command, all, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

export interface PostgresServer {
  readonly port: number
  readonly dataDir: string
  /** SIGQUIT: it ends without a checkpoint, as after a crash. */
  crash(): void
  start(): void
  stop(): void
  /** Makes a standby the primary. */
  promote(): void
  /** Process id of the postmaster. */
  readonly pid: number
}

/** Started servers; the first one is the primary. `url` has all of them. */
export interface PostgresCluster {
  readonly servers: readonly PostgresServer[]
  readonly primary: PostgresServer
  /** With all servers, or of one. `database`: created by `createDatabase`. */
  url(database: string, server?: PostgresServer): string
  createDatabase(name: string, server?: PostgresServer): string
  /** Makes `to` a standby of `from`, with a new copy of its data. */
  copy(from: PostgresServer, to: PostgresServer, name: string): void
  /** Runs a statement on a server, in a session of its own. */
  sql(text: string, server?: PostgresServer, database?: string): string
  remove(): void
}

/**
 * Starts a primary with `standbyCount` standbys; with any, one of them must confirm each commit. `settings`: further lines of
 * postgresql.conf.
 */
export async function startPostgres(
  bin: string,
  standbyCount = 0,
  settings: readonly string[] = [],
): Promise<PostgresCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-postgres-'))
  if (isRoot) execFileSync('chown', [user, directory])
  chmodSync(directory, 0o700)
  const names = Array.from({ length: standbyCount }, (_, i) => `db${i + 1}`)
  const ports = await freePorts(1 + standbyCount)
  const servers = ports.map((port, i) => serverAt(bin, join(directory, `server${i}`), port))
  const [primary, ...standbys] = servers as [PostgresServer, ...PostgresServer[]]
  run(join(bin, 'initdb'), [
    '-D',
    primary.dataDir,
    '-U',
    user,
    '-A',
    'trust',
    '--no-sync',
    '-E',
    'UTF8',
    '--locale=C',
  ])
  configure(primary.dataDir, [
    `port = ${primary.port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${directory}'`,
    'shared_buffers = 32MB',
    'max_connections = 60',
    'wal_level = replica',
    'hot_standby = on',
    'max_wal_senders = 10',
    'wal_keep_size = 512MB',
    'wal_log_hints = on',
    "log_min_messages = 'fatal'",
    ...settings,
  ])
  primary.start()
  const cluster: PostgresCluster = {
    servers,
    primary,
    url: (database, server) =>
      `postgres://${user}@${(server ? [server] : servers).map(({ port }) => `127.0.0.1:${port}`).join(',')}/${database}`,
    createDatabase(name, server) {
      cluster.sql(`create database ${name}`, server)
      return cluster.url(name)
    },
    copy(from, to, name) {
      rmSync(to.dataDir, { recursive: true, force: true, maxRetries: 10 })
      const source = `host=127.0.0.1 port=${from.port} user=${user} application_name=${name}`
      run(join(bin, 'pg_basebackup'), ['-D', to.dataDir, '-d', source, '-c', 'fast', '--no-sync', '-R'])
      configure(to.dataDir, [`port = ${to.port}`])
      to.start()
    },
    sql: (text, server = primary, database = 'postgres') =>
      execFileSync(
        join(bin, 'psql'),
        ['-h', '127.0.0.1', '-p', String(server.port), '-U', user, '-d', database, '-XAtqc', text],
        { encoding: 'utf8' },
      ).trim(),
    remove() {
      for (const server of servers) server.stop()
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
    },
  }
  standbys.forEach((standby, i) => cluster.copy(primary, standby, names[i]!))
  if (standbyCount > 0) {
    cluster.sql(`alter system set synchronous_standby_names = 'ANY 1 (${names.join(', ')})'`)
    cluster.sql('select pg_reload_conf()')
  }
  return cluster
}

function configure(dataDir: string, lines: readonly string[]): void {
  appendFileSync(join(dataDir, 'postgresql.conf'), `\n${lines.join('\n')}\n`)
}

function serverAt(bin: string, dataDir: string, port: number): PostgresServer {
  const control = (...args: readonly string[]): void => {
    run(join(bin, 'pg_ctl'), ['-D', dataDir, '-w', '-l', `${dataDir}.log`, ...args])
  }
  return {
    port,
    dataDir,
    get pid() {
      return Number(run('head', ['-1', join(dataDir, 'postmaster.pid')]))
    },
    crash: () => control('stop', '-m', 'immediate'),
    start: () => control('start'),
    promote: () => control('promote'),
    stop() {
      const [command, args] = [join(bin, 'pg_ctl'), ['-D', dataDir, '-m', 'immediate', '-w', 'stop']]
      if (isRoot) spawnSync('runuser', ['-u', user, '--', command, ...args])
      else spawnSync(command, args)
    },
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}
