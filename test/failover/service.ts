/**
 * One of the service processes of the failover tests, on this machine, with proxies to the databases of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childrenOf } from '../harness/proc.js'
import { freePort } from '../harness/server.js'
import type { Database } from './database.js'
import { JournalProcess, type Role } from './journal-process.js'
import { Proxy } from './proxy.js'

export class Service extends JournalProcess {
  /** To each database, in their order. */
  readonly links: readonly Proxy[]
  readonly adminPort: number
  readonly #directory: string
  #frozen: number[] = []

  private constructor(
    name: string,
    directory: string,
    links: readonly Proxy[],
    ports: readonly number[],
    env: Env,
  ) {
    const [port = 0, adminPort = 0] = ports
    const hosts = links.map((link) => `127.0.0.1:${link.port}`).join(',')
    super(name, directory, {
      UNDERSTUDY_ADMIN_PORT: String(adminPort),
      UNDERSTUDY_JOURNAL: `postgres://postgres@${hosts}/${env.database}`,
      UNDERSTUDY_ENVIRONMENT: env.environment,
    })
    this.links = links
    this.adminPort = adminPort
    this.#directory = directory
    this.server.port = port
  }

  static async create(name: string, databases: readonly Database[], env: Env): Promise<Service> {
    const directory = mkdtempSync(join(tmpdir(), `understudy-failover-${name}-`))
    const links: Proxy[] = []
    for (const { port } of databases) links.push(await Proxy.start(port))
    return new Service(name, directory, links, [await freePort(), await freePort()], env)
  }

  get port(): number {
    return this.server.port
  }

  /** Ends it and its children at the same time. */
  override async kill(): Promise<void> {
    this.thaw()
    await super.kill()
  }

  /** Stops all of its processes without ending them, until `thaw`. */
  freeze(): void {
    const pid = this.server.pid!
    this.#frozen = [pid, ...childrenOf(pid).map((child) => child.pid)]
    for (const each of this.#frozen) process.kill(each, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of this.#frozen.splice(0)) {
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // It has ended.
      }
    }
  }

  role(): Promise<Role> {
    return this.roleAt(`http://127.0.0.1:${this.adminPort}`)
  }

  /** The newest entry that its data directory has. */
  async newestEntry(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.adminPort}/metrics`)
    const [, entry] = /^understudy_journal_entry(?:\{.*\})? (\d+)/m.exec(await response.text()) ?? []
    return Number(entry)
  }

  async dispose(): Promise<void> {
    this.thaw()
    await this.server.dispose()
    for (const link of this.links) link.close()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

export interface Env {
  readonly database: string
  readonly environment: string
}
