/**
 * One member of the Patroni cluster: a machine with etcd, the real Patroni with deploy/patroni.yml, PostgreSQL, and a disk of its
 * own.
 */
import { execFile, execFileSync, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { projectDir } from '../../helpers/project.js'
import { Machine } from './machine.js'

const execute = promisify(execFile)
const diskBytes = 1536 * 1024 * 1024
const shippedAddress = '10.0.0.21'

export class Member {
  readonly machine: Machine
  readonly configFile: string
  readonly #dir: string
  /** The home directory of the user postgres, on the disk of this member. */
  readonly #home: string
  readonly #hosts: readonly string[]
  #etcd: ChildProcess | null = null

  /** `hosts`: the addresses of all members. */
  constructor(dir: string, name: string, address: string, hosts: readonly string[]) {
    this.machine = new Machine(name, address)
    this.#dir = join(dir, name)
    this.#home = join(this.#dir, 'postgresql')
    this.#hosts = hosts
    mkdirSync(this.#home, { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=0755`, 'tmpfs', this.#home])
    mkdirSync(join(this.#dir, 'etcd'), { mode: 0o700 })
    execFileSync('chown', ['-R', 'postgres:', this.#home, join(this.#dir, 'etcd')])
    this.configFile = join(this.#dir, 'patroni.yml')
    // The members differ in their name and their own address. The list of etcd's servers is the same.
    const shipped = readFileSync(join(projectDir, 'deploy/patroni.yml'), 'utf8')
    const own = shipped
      .replace('name: db1', `name: ${name}`)
      .replaceAll(new RegExp(`${shippedAddress}:(8008|5432)`, 'g'), `${address}:$1`)
    writeFileSync(this.configFile, own)
    chmodSync(this.configFile, 0o644)
  }

  get name(): string {
    return this.machine.name
  }

  get logFile(): string {
    return join(this.#dir, 'log')
  }

  startEtcd(): void {
    const { name, address } = this.machine
    const cluster = this.#hosts.map((host, index) => `db${index + 1}=http://${host}:2380`).join()
    this.#etcd = this.machine.startAsPostgres(this.#home, join(this.#dir, 'etcd.log'), [
      ...['etcd', '--name', name, '--data-dir', join(this.#dir, 'etcd')],
      ...[
        '--listen-client-urls',
        `http://${address}:2379`,
        '--advertise-client-urls',
        `http://${address}:2379`,
      ],
      ...[
        '--listen-peer-urls',
        `http://${address}:2380`,
        '--initial-advertise-peer-urls',
        `http://${address}:2380`,
      ],
      ...['--initial-cluster', cluster, '--initial-cluster-state', 'new'],
    ])
  }

  startPatroni(): void {
    this.machine.startAsPostgres(this.#home, this.logFile, ['patroni', this.configFile])
  }

  start(): void {
    this.startEtcd()
    this.startPatroni()
  }

  /** Ends Patroni and PostgreSQL at the same time; etcd goes on. */
  async killPatroni(): Promise<void> {
    await this.machine.kill([this.#etcd?.pid])
  }

  async killEtcd(): Promise<void> {
    const child = this.#etcd
    if (child === null || child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }

  deleteData(): void {
    rmSync(join(this.#home, 'understudy'), { recursive: true, force: true })
  }

  /** Leaves no room on the disk, until `freeDisk`. */
  async fillDisk(): Promise<void> {
    // It fails when the disk is full.
    await execute('dd', ['if=/dev/zero', `of=${this.#ballast}`, 'bs=64k']).catch(() => undefined)
  }

  freeDisk(): void {
    rmSync(this.#ballast, { force: true })
  }

  get #ballast(): string {
    return join(this.#home, 'ballast')
  }

  async dispose(): Promise<void> {
    await this.machine.kill()
    execFileSync('umount', ['-l', this.#home])
  }
}
