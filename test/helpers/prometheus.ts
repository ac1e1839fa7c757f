/**
 * A real Prometheus and a real Alertmanager with the files of deploy/prometheus, and a webhook that receives the alerts. Only
 * addresses and times are substituted: intervals are a second, and each minute of a `for` is a second.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, projectDir } from '../harness/server.js'

export const prometheusMissing = ['prometheus', 'prometheus-alertmanager'].some(
  (program) => spawnSync(program, ['--version']).error !== undefined,
)

/** A time series as Prometheus returns it. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

interface Alert {
  readonly status: 'firing' | 'resolved'
  readonly labels: { readonly alertname: string }
  readonly annotations: { readonly action?: string; readonly runbook?: string }
}

export class Monitoring {
  /** What the webhook has received, in order. */
  readonly delivered: Alert[] = []
  readonly #webhook: Server
  readonly #programs: ChildProcess[] = []
  #origin = ''

  private constructor() {
    this.#webhook = createServer((request, response) => {
      let text = ''
      request.setEncoding('utf8').on('data', (part: string) => (text += part))
      request.on('end', () => {
        this.delivered.push(...(JSON.parse(text) as { alerts: Alert[] }).alerts)
        response.end()
      })
    })
  }

  /** Resolves when both programs are ready. `token`: of the admin listener, which Prometheus sends. */
  static async start(dir: string, adminPort: number, token: string): Promise<Monitoring> {
    const monitoring = new Monitoring()
    try {
      await monitoring.#start(dir, adminPort, token)
    } catch (error) {
      await monitoring.stop()
      throw error
    }
    return monitoring
  }

  async #start(dir: string, adminPort: number, token: string): Promise<void> {
    const [webhookPort, alertmanagerPort, port] = [await freePort(), await freePort(), await freePort()]
    await new Promise<void>((resolve) => this.#webhook.listen(webhookPort, '127.0.0.1', resolve))
    mkdirSync(dir, { recursive: true })
    const write = (file: string, ...changes: readonly (readonly [string | RegExp, string])[]): string => {
      const path = join(dir, file)
      writeFileSync(path, substituted(`deploy/prometheus/${file}`, changes))
      return path
    }
    const alertmanagerFile = write(
      'alertmanager.yml',
      [/group_wait: .*/, 'group_wait: 0s'],
      [/group_interval: .*/, 'group_interval: 1s'],
      ['https://alerts.example.org/understudy', `http://127.0.0.1:${webhookPort}/alerts`],
    )
    write('understudy.rules.yml', [/for: (\d+)m/g, 'for: $1s'], [/for: 1h/g, 'for: 60s'])
    const tokenFile = join(dir, 'token')
    writeFileSync(tokenFile, token)
    const prometheusFile = write(
      'prometheus.yml',
      [/_interval: 15s/g, '_interval: 1s'],
      ['alertmanager:9093', `127.0.0.1:${alertmanagerPort}`],
      [
        "static_configs:\n      - targets: ['understudy:8081']",
        `authorization: { credentials_file: ${tokenFile} }\n    static_configs:\n      - targets: ['127.0.0.1:${adminPort}']`,
      ],
    )
    await this.#run(`http://127.0.0.1:${alertmanagerPort}`, 'prometheus-alertmanager', [
      `--config.file=${alertmanagerFile}`,
      `--storage.path=${join(dir, 'alertmanager')}`,
      `--web.listen-address=127.0.0.1:${alertmanagerPort}`,
      '--cluster.listen-address=',
    ])
    this.#origin = `http://127.0.0.1:${port}`
    await this.#run(this.#origin, 'prometheus', [
      `--config.file=${prometheusFile}`,
      `--storage.tsdb.path=${join(dir, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ])
  }

  /** Resolves when the program is ready. */
  async #run(origin: string, program: string, args: readonly string[]): Promise<void> {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#programs.push(child)
    let log = ''
    child.stderr.on('data', (part: Buffer) => (log += part.toString()))
    for (;;) {
      if (child.exitCode !== null) throw new Error(`${program} has ended: ${log}`)
      const response = await fetch(`${origin}/-/ready`).catch(() => null)
      await response?.body?.cancel()
      if (response?.ok === true) return
      await delay(50)
    }
  }

  /** The result of a call of Prometheus' API. */
  async api<Data>(path: string): Promise<Data> {
    const response = await fetch(`${this.#origin}/api/v1/${path}`)
    const { status, data, error } = (await response.json()) as { status: string; data: Data; error?: string }
    if (status !== 'success') throw new Error(`${path}: ${error ?? ''}`)
    return data
  }

  async query(expression: string): Promise<readonly Sample[]> {
    const path = `query?query=${encodeURIComponent(expression)}`
    return (await this.api<{ result: readonly Sample[] }>(path)).result
  }

  /** The last state in which the webhook received each alert. */
  get states(): Readonly<Record<string, 'firing' | 'resolved'>> {
    return Object.fromEntries(this.delivered.map(({ labels, status }) => [labels.alertname, status]))
  }

  async stop(): Promise<void> {
    for (const child of this.#programs) {
      if (child.exitCode !== null) continue
      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
    }
    this.#webhook.closeAllConnections()
    await new Promise((resolve) => this.#webhook.close(resolve))
  }
}

/** A shipped file with changes, each of which must apply. */
function substituted(path: string, changes: readonly (readonly [string | RegExp, string])[]): string {
  return changes.reduce(
    (text, [shipped, tested]) => {
      const changed = text.replace(shipped, tested)
      if (changed === text) throw new Error(`${path} lacks ${String(shipped)}`)
      return changed
    },
    readFileSync(join(projectDir, path), 'utf8'),
  )
}
