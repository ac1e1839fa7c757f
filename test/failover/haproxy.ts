/**
 * A real HAProxy with the shipped configuration. Only addresses and the certificate are substituted.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { projectDir } from '../helpers/project.js'

export const haproxyMissing = spawnSync('haproxy', ['-v']).error !== undefined

export interface Backend {
  readonly port: number
  readonly adminPort: number
}

export class HaProxy {
  readonly port: number
  readonly #child: ChildProcess
  readonly #directory: string

  private constructor(port: number, child: ChildProcess, directory: string) {
    this.port = port
    this.#child = child
    this.#directory = directory
  }

  /** Resolves when it listens on `port`. */
  static start(port: number, backends: readonly Backend[]): Promise<HaProxy> {
    return HaProxy.startWith(port, testConfiguration(port, backends))
  }

  static async startWith(port: number, configuration: string): Promise<HaProxy> {
    const directory = mkdtempSync(join(tmpdir(), 'understudy-haproxy-'))
    const file = join(directory, 'haproxy.cfg')
    writeFileSync(file, configuration)
    const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
    const proxy = new HaProxy(port, child, directory)
    while (!(await isListening(port))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`haproxy ended with ${child.exitCode ?? child.signalCode}`)
      await delay(20)
    }
    return proxy
  }

  dispose(): void {
    this.#child.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** deploy/haproxy.cfg without TLS, on a local port, in front of local processes. */
export function testConfiguration(port: number, backends: readonly Backend[]): string {
  const local = replaced(shippedConfiguration(port), 'check port 8081 ', 'check ')
  return backends.reduce(
    (text, backend, index) =>
      replaced(
        text,
        new RegExp(`server understudy${index + 1} .*`),
        `server understudy${index + 1} 127.0.0.1:${backend.port} port ${backend.adminPort}`,
      ),
    local,
  )
}

/** deploy/haproxy.cfg without TLS, on a local port, with the addresses of its processes as they are. */
export function shippedConfiguration(port: number): string {
  const text = readFileSync(join(projectDir, 'deploy/haproxy.cfg'), 'utf8')
  return replaced(text, /bind :443 .*/, `bind 127.0.0.1:${port}`)
}

function replaced(text: string, shipped: string | RegExp, tested: string): string {
  const result = text.replace(shipped, tested)
  if (result === text) throw new Error(`deploy/haproxy.cfg lacks ${String(shipped)}`)
  return result
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
