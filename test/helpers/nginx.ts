/**
 * A real nginx with the shipped configuration, of which only paths, ports and limits that a test must reach are substituted.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf, commandOf } from '../harness/proc.js'
import { freePort, projectDir } from '../harness/server.js'
import { makeTlsFiles, opensslMissing } from './tls-files.js'

export const nginxMissing = spawnSync('nginx', ['-v']).error !== undefined || opensslMissing

export class Nginx {
  readonly port: number
  /** Of its certificate. */
  readonly certFile: string
  readonly #child: ChildProcess
  readonly #dir: string
  readonly #ended: Promise<unknown>

  private constructor(port: number, certFile: string, child: ChildProcess, dir: string) {
    this.port = port
    this.certFile = certFile
    this.#child = child
    this.#dir = dir
    this.#ended = new Promise((resolve) => child.once('close', resolve))
  }

  /** Runs nginx with these contents of its http block. Resolves when it listens on `port`. */
  static async start(dir: string, contents: string, port: number, certFile = ''): Promise<Nginx> {
    writeFileSync(join(dir, 'understudy.conf'), contents)
    mkdirSync(join(dir, 'tmp'))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const main = [
      'daemon off;',
      'worker_processes 1;',
      ...(process.getuid?.() === 0 ? ['user root;'] : []),
      `pid ${dir}/nginx.pid;`,
      `error_log ${dir}/error.log;`,
      'events { worker_connections 512; }',
      'http {',
      'access_log off;',
      ...temporary.map((name) => `${name}_temp_path ${dir}/tmp/${name};`),
      `include ${dir}/understudy.conf;`,
      '}',
    ]
    const file = join(dir, 'nginx.conf')
    writeFileSync(file, `${main.join('\n')}\n`)
    const child = spawn('nginx', ['-p', dir, '-c', file, '-e', join(dir, 'error.log')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    while (!(await isListening(port)))
      if (child.exitCode !== null) throw new Error(`nginx has ended: ${output}`)
    return new Nginx(port, certFile, child, dir)
  }

  /** Reads its configuration again. Resolves when new workers accept connections; those before finish their requests. */
  async reload(): Promise<void> {
    const workers = (): number[] => childrenOf(this.#child.pid!).map(({ pid }) => pid)
    const before = workers()
    this.#child.kill('SIGHUP')
    while (workers().every((pid) => before.includes(pid)) || !before.every(isDraining)) await delay(10)
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#ended
    rmSync(this.#dir, { recursive: true, force: true })
  }
}

/** With deploy/nginx.conf in front of the server at `serverPort`. */
export function startNginx(serverPort: number, connectionsMax = 64): Promise<Nginx> {
  return startShipped('nginx.conf', async () => [
    ['listen 80;', `listen 127.0.0.1:${await freePort()};`],
    ['server 127.0.0.1:8080;', `server 127.0.0.1:${serverPort};`],
    ['understudy_connections 64;', `understudy_connections ${connectionsMax};`],
  ])
}

/** With deploy/nginx-admin.conf in front of the admin listener at `adminPort`. */
export function startAdminNginx(adminPort: number): Promise<Nginx> {
  return startShipped('nginx-admin.conf', (port) => [
    ['proxy_pass http://127.0.0.1:8081;', `proxy_pass http://127.0.0.1:${adminPort};`],
    ['https://operators.example.org', `https://127.0.0.1:${port}`],
  ])
}

type Replacements = readonly (readonly [string, string])[]

async function startShipped(
  name: string,
  replacementsFor: (port: number) => Replacements | Promise<Replacements>,
): Promise<Nginx> {
  const dir = mkdtempSync(join(tmpdir(), 'understudy-nginx-'))
  const port = await freePort()
  const files = makeTlsFiles(dir, 'localhost')
  const replacements: Replacements = [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['/etc/ssl/understudy/fullchain.pem', files.cert],
    ['/etc/ssl/understudy/privkey.pem', files.key],
    ...(await replacementsFor(port)),
  ]
  const text = readFileSync(join(projectDir, 'deploy', name), 'utf8')
  let configuration = text.replace(/\n *listen \[::\]:[^\n]*/g, '')
  for (const [shipped, tested] of replacements) {
    if (!configuration.includes(shipped)) throw new Error(`deploy/${name} lacks ${shipped}`)
    configuration = configuration.replace(shipped, tested)
  }
  return Nginx.start(dir, configuration, port, files.cert)
}

/** Whether a worker has ended, or ends as soon as its requests have. */
function isDraining(pid: number): boolean {
  const command = commandOf(pid)
  return command.length === 0 || command.join(' ').includes('shutting down')
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('connect', () => socket.destroy())
    socket.once('error', () => resolve(false))
  })
}
