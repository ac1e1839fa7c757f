/**
 * A real PgBouncer in front of one PostgreSQL server. As root it runs as the user postgres, because it refuses root.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../harness/server.js'

const user = 'postgres'
const isRoot = process.getuid?.() === 0
export const pgbouncerMissing = spawnSync('pgbouncer', ['--version']).error !== undefined
if (pgbouncerMissing) console.log('PgBouncer is not installed: its tests are skipped')

export interface PgBouncer {
  readonly port: number
  dispose(): void
}

/** In transaction mode, in front of the server at `port`. `settings`: further lines of its configuration. */
export async function startPgBouncer(port: number, settings: readonly string[] = []): Promise<PgBouncer> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-pgbouncer-'))
  const ownPort = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  writeFileSync(
    file,
    [
      ...['[databases]', `* = host=127.0.0.1 port=${port} user=${user}`, '[pgbouncer]'],
      ...['listen_addr = 127.0.0.1', `listen_port = ${ownPort}`, 'unix_socket_dir =', 'auth_type = any'],
      ...['pool_mode = transaction', `logfile = ${join(directory, 'log')}`, ...settings, ''],
    ].join('\n'),
  )
  chmodSync(directory, 0o755)
  if (isRoot) execFileSync('chown', ['-R', user, directory])
  const [command, args] = isRoot
    ? ['setpriv', ['--reuid', user, '--clear-groups', 'pgbouncer', file]]
    : ['pgbouncer', [file]]
  const child = spawn(command, args, { stdio: 'ignore' })
  while (!(await isListening(ownPort))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`pgbouncer ended with ${child.exitCode ?? child.signalCode}`)
    await delay(20)
  }
  return {
    port: ownPort,
    dispose() {
      child.kill('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
