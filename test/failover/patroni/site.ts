/**
 * The deployment of docs/high-availability.md on seven machines: three members of a Patroni cluster with etcd, three service
 * processes, and the load balancer, on which the client runs too. Addresses and files are those of deploy/. It must have a
 * network, mounts and process ids of its own, in which nothing else runs (patroni.sh).
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { cycleMs } from '../../helpers/bodies.js'
import { projectDir } from '../../helpers/project.js'
import type { FailoverSite } from '../failover.js'
import { HaProxy, shippedConfiguration } from '../haproxy.js'
import type { StoredJournal } from '../history.js'
import { executable } from '../../harness/server.js'
import { bridge } from './machine.js'
import { Member } from './member.js'
import { Process } from './process.js'

const execute = promisify(execFile)
const members = ['10.0.0.21', '10.0.0.22', '10.0.0.23'] as const
const processes = ['10.0.0.11', '10.0.0.12', '10.0.0.13'] as const
/** For all roles to be as they should: a member may be copied anew. */
const settleMsMax = 120_000
const callMsMax = 2000
const commandMsMax = 60_000
const environment = 'rehearsal'
/** That of deploy/patroni.yml. */
const superuserPassword = 'replace-this'
const password = 'password-of-understudy'

const logsDir = join(projectDir, 'build/patroni-logs')

/** As Patroni's REST API lists a member. */
interface MemberState {
  readonly name: string
  readonly role: 'leader' | 'sync_standby' | 'replica'
  readonly state: string
}

export { faults } from './faults.js'
export const openSite = (): Promise<Site> => Site.start(cycleMs(0))

export class Site implements FailoverSite {
  readonly members: readonly Member[]
  readonly services: readonly Process[]
  readonly port = 9000
  readonly patroniVersion = versionOf('patroni')
  readonly #dir: string
  #haproxy: HaProxy | null = null

  private constructor(dir: string) {
    this.#dir = dir
    this.members = members.map((address, index) => new Member(dir, `db${index + 1}`, address, members))
    const hosts = members.map((address) => `${address}:5432`).join()
    const journal = {
      UNDERSTUDY_JOURNAL: `postgres://understudy:${password}@${hosts}/understudy`,
      UNDERSTUDY_ENVIRONMENT: environment,
    }
    this.services = processes.map((address, index) => new Process(dir, `app${index + 1}`, address, journal))
  }

  static async start(timeMs: number): Promise<Site> {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'])
    mkdirSync('/run/postgresql')
    for (const args of [
      ['link', 'set', 'lo', 'up'],
      ['link', 'add', bridge, 'type', 'bridge'],
      ['addr', 'add', '10.0.0.10/24', 'dev', bridge],
      ['link', 'set', bridge, 'up'],
    ])
      execFileSync('ip', args)
    const dir = mkdtempSync(join(tmpdir(), 'understudy-patroni-'))
    execFileSync('chmod', ['755', dir])
    const site = new Site(dir)
    try {
      await site.#start(timeMs)
    } catch (error) {
      const logs = site.logs()
      await site.dispose()
      throw new Error(logs, { cause: error })
    }
    return site
  }

  async #start(timeMs: number): Promise<void> {
    for (const member of this.members) member.start()
    await this.#settleMembers()
    // As docs/high-availability.md says.
    await this.#sql(`create role understudy login password '${password}'`, 'postgres')
    await this.#sql('create database understudy owner understudy', 'postgres')
    await this.#sql('grant pg_monitor to understudy', 'postgres')
    await this.command('journal', 'migrate')
    await this.command('journal', 'create', environment)
    for (const service of this.services) service.timeMs = timeMs
    this.#haproxy = await HaProxy.startWith(this.port, shippedConfiguration(this.port))
    await Promise.all(this.services.map((service) => service.start()))
    await this.settle()
  }

  get key(): string {
    return this.services[0]?.server.key ?? ''
  }

  /** The process that is ready; waits until there is one. */
  async owner(): Promise<Process> {
    const deadline = performance.now() + settleMsMax
    while (performance.now() < deadline) {
      for (const service of this.services) if ((await service.role()) === 'owner') return service
      await delay(50)
    }
    throw new Error('no process is ready')
  }

  async leader(): Promise<Member> {
    return this.#withRole('leader')
  }

  /** The standby that has each commit. */
  async synchronous(): Promise<Member> {
    return this.#withRole('sync_standby')
  }

  async #withRole(role: MemberState['role']): Promise<Member> {
    const name = (await this.#states()).find((state) => state.role === role)?.name
    const member = this.members.find((each) => each.name === name)
    if (member === undefined) throw new Error(`no member has the role ${role}`)
    return member
  }

  /** Runs patronictl on this machine. */
  async patronictl(command: string, ...args: readonly string[]): Promise<void> {
    const [first] = this.members
    await execute('patronictl', ['-c', first?.configFile ?? '', command, 'understudy', ...args, '--force'], {
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
      timeout: commandMsMax,
    })
  }

  /** Resolves when one process is ready, the others are standbys, HAProxy uses it, and the members replicate. */
  async settle(): Promise<void> {
    await this.#settleMembers()
    const deadline = performance.now() + settleMsMax
    for (;;) {
      const roles = await Promise.all(this.services.map((service) => service.role()))
      if (
        roles.filter((role) => role === 'owner').length === 1 &&
        !roles.includes(null) &&
        (await this.#isServing())
      )
        return
      if (performance.now() > deadline) throw new Error(`the roles are ${roles.join(', ')}`)
      await delay(50)
    }
  }

  async #isServing(): Promise<boolean> {
    const signal = AbortSignal.timeout(callMsMax)
    const response = await fetch(`http://127.0.0.1:${this.port}/v1/health`, { signal }).catch(() => null)
    await response?.body?.cancel()
    return response?.status === 200
  }

  /** Resolves when one member leads, and the others follow it, one of them synchronously. */
  async #settleMembers(): Promise<void> {
    const deadline = performance.now() + settleMsMax
    for (;;) {
      const states = await this.#states()
      const roles = states.map(({ role }) => role).sort()
      const isRunning = states.every(({ state }) => state === 'running' || state === 'streaming')
      if (isRunning && roles.join() === 'leader,replica,sync_standby' && (await this.#areStreaming())) return
      if (performance.now() > deadline) throw new Error(`the members are ${JSON.stringify(states)}`)
      await delay(200)
    }
  }

  async #areStreaming(): Promise<boolean> {
    const query = `select count(*) from pg_stat_replication where state = 'streaming'`
    return (await this.#sql(query, 'postgres').catch(() => '')) === '2'
  }

  async #states(): Promise<readonly MemberState[]> {
    for (const { machine } of this.members) {
      const signal = AbortSignal.timeout(callMsMax)
      const response = await fetch(`http://${machine.address}:8008/cluster`, { signal }).catch(() => null)
      if (response?.ok === true) return ((await response.json()) as { members: MemberState[] }).members
    }
    return []
  }

  /** Runs a statement on the primary, as its superuser. Resolves with its rows, columns separated by `|`. */
  async #sql(text: string, database = 'understudy'): Promise<string> {
    const address = `host=${members.join()} user=postgres dbname=${database}`
    const { stdout } = await execute(
      'psql',
      [`${address} target_session_attrs=read-write connect_timeout=3`, ...['-XAtqc', text]],
      { env: { ...process.env, PGPASSWORD: superuserPassword }, timeout: commandMsMax },
    )
    return stdout.trim()
  }

  async stored(): Promise<StoredJournal> {
    const rows = async (columns: string, table: string, order: string): Promise<string[][]> => {
      const where = `environment = '${environment}' order by ${order}`
      const text = await this.#sql(`select ${columns} from understudy.${table} where ${where}`)
      return text === '' ? [] : text.split('\n').map((line) => line.split('|'))
    }
    const cycles = await rows('cycle_id, position', 'cycle', 'position')
    const entries = await rows('epoch, number', 'entry', 'number')
    return {
      cycles: cycles.map(([cycleId = '', position]) => ({ cycleId, position: Number(position) })),
      entries: entries.map(([epoch, number]) => ({ epoch: Number(epoch), number: Number(number) })),
    }
  }

  /** It has the environment of its start. */
  useNewEnvironment(): Promise<void> {
    return Promise.resolve()
  }

  async verifyExport(): Promise<void> {
    const target = join(this.#dir, 'export')
    await this.command('journal', 'export', target, '--environment', environment)
    await this.command('verify', '--data-dir', target, '--all-images')
  }

  async command(...args: readonly string[]): Promise<void> {
    const hosts = members.map((address) => `${address}:5432`).join()
    const journal = `postgres://understudy:${password}@${hosts}/understudy`
    await execute(executable, args, {
      env: { ...process.env, UNDERSTUDY_JOURNAL: journal },
      timeout: settleMsMax,
    })
  }

  /** Writes all logs to `logsDir`, too. */
  logs(): string {
    this.#saveLogs()
    const isMeant = (line: string): boolean => !/"msg":"(request|cycle (scored|repeated))"/.test(line)
    const end = (text: string): string => text.split('\n').filter(isMeant).slice(-25).join('\n')
    const all = [
      ...this.services.map(({ name, server }) => [name, server.log] as const),
      ...this.members.map(({ name, logFile }) => [name, readFileSync(logFile, 'utf8')] as const),
    ]
    return all.map(([name, text]) => `---- ${name}\n${end(text)}`).join('\n')
  }

  #saveLogs(): void {
    mkdirSync(logsDir, { recursive: true })
    for (const { name, server } of this.services) writeFileSync(join(logsDir, `${name}.log`), server.log)
    for (const { name, logFile } of this.members)
      writeFileSync(join(logsDir, `${name}.log`), readFileSync(logFile))
  }

  async dispose(): Promise<void> {
    this.#haproxy?.dispose()
    await Promise.all(this.services.map((service) => service.dispose()))
    await Promise.all(this.members.map((member) => member.dispose()))
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 10 })
  }
}

function versionOf(program: string): readonly [number, number, number] {
  const text = execFileSync(program, ['--version'], { encoding: 'utf8' })
  const [major = 0, minor = 0, patch = 0] = (text.match(/\d+/g) ?? []).map(Number)
  return [major, minor, patch]
}
