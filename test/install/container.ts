/**
 * A container of an image without a container engine, which needs kernel features that test machines lack: the image's command as
 * process 1 in namespaces of its own, with a read-only root, its user, no privileges, /proc, the four devices that programs
 * need, and neither /dev/shm nor another network than its loopback.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf } from '../harness/proc.js'
import type { Ran } from './machine.js'

/** What an image says about its containers. */
export interface ImageConfig {
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly User: string
  readonly WorkingDir: string
  readonly StopSignal: string
  readonly Volumes: Readonly<Record<string, object>>
  readonly ExposedPorts: Readonly<Record<string, object>>
}

export interface ContainerOptions {
  /** Root directory of the image. */
  readonly root: string
  readonly config: ImageConfig
  readonly hostname: string
  /** Of the machine, by path in the container. */
  readonly writable: Readonly<Record<string, string>>
  readonly readable: Readonly<Record<string, string>>
  readonly env: Readonly<Record<string, string>>
  readonly memoryBytesMax: number
  readonly cpusMax: number
  readonly processesMax: number
}

const waitMsMax = 180_000
const cgroups = '/sys/fs/cgroup'
const cpuPeriodUs = 100_000

/** $1 root, then `PATH=DIRECTORY` and `-` for the writable and for the readable mounts, then the program. */
const script = `set -e
  root=$1; shift
  ip link set lo up
  mount --bind "$root" "$root"
  mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
  mount -t tmpfs -o nosuid,noexec,mode=755 tmpfs "$root/dev"
  for device in null zero random urandom; do touch "$root/dev/$device"; mount --bind /dev/$device "$root/dev/$device"; done
  mount -o remount,ro "$root/dev"
  mount -t tmpfs -o nodev,nosuid,noexec,mode=1777 tmpfs "$root/tmp"
  while [ "$1" != - ]; do mkdir -p "$root\${1%%=*}"; mount --bind "\${1#*=}" "$root\${1%%=*}"; shift; done; shift
  while [ "$1" != - ]; do mkdir -p "$root\${1%%=*}"; mount --bind "\${1#*=}" "$root\${1%%=*}"; mount -o remount,ro,bind "$root\${1%%=*}"; shift; done; shift
  mount -o remount,ro,bind "$root"
  hostname "$1"; shift
  exec env -i "$@"`

export class Container {
  readonly #unshare: ChildProcess
  readonly #user: string
  readonly #env: readonly string[]
  readonly #ended: Promise<number | null>
  readonly #cgroups: readonly string[]
  log = ''

  private constructor(
    unshare: ChildProcess,
    groups: readonly string[],
    user: string,
    env: readonly string[],
  ) {
    this.#unshare = unshare
    this.#cgroups = groups
    this.#user = user
    this.#env = env
    const onOutput = (chunk: Buffer): void => void (this.log += chunk.toString())
    unshare.stdout?.on('data', onOutput)
    unshare.stderr?.on('data', onOutput)
    this.#ended = new Promise((done) => unshare.once('close', done))
  }

  static async start(options: ContainerOptions): Promise<Container> {
    const { root, config, hostname, writable, readable } = options
    const mounts = (paths: Readonly<Record<string, string>>): string[] => [
      ...Object.entries(paths).map(([path, directory]) => `${path}=${directory}`),
      '-',
    ]
    const env = [...config.Env, ...Object.entries(options.env).map(([name, value]) => `${name}=${value}`)]
    const groups = limitedGroups(options)
    const enter = groups.map((group) => `echo $$ > ${group}/cgroup.procs; `).join('')
    const capabilities = [
      '--no-new-privs',
      '--bounding-set=-all,+sys_chroot,+setuid,+setgid',
      '--inh-caps=-all',
    ]
    const program = [
      ...[
        'setpriv',
        ...capabilities,
        'chroot',
        `--userspec=${config.User}`,
        root,
        'env',
        `--chdir=${config.WorkingDir}`,
      ],
      ...config.Entrypoint,
      ...config.Cmd,
    ]
    const namespaces = ['--net', '--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child']
    const unshare = spawn(
      'sh',
      [
        ...['-c', `${enter}exec unshare "$@"`, 'sh', ...namespaces, 'sh', '-c', script, 'sh', root],
        ...[...mounts(writable), ...mounts(readable), hostname, ...env, ...program],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const container = new Container(unshare, groups, config.User, env)
    await container.until('the service listens', () => container.log.includes('"msg":"listening"'))
    return container
  }

  /** As `docker exec`: a program in the container, as its user. */
  execute(command: readonly string[]): Ran {
    return ran('nsenter', this.execPrefix(command))
  }

  /** Arguments of nsenter(1) before a command. */
  execPrefix(command: readonly string[] = []): string[] {
    const [uid = '', gid = ''] = this.#user.split(':')
    return [
      ...this.#target,
      '-m',
      '-u',
      '-i',
      '-n',
      '-p',
      '-r',
      '-w',
      '-S',
      uid,
      '-G',
      gid,
      'env',
      '-i',
      ...this.#env,
      ...command,
    ]
  }

  /** A program of this machine in the network of the container. */
  inNetwork(command: readonly string[]): Ran {
    return ran('nsenter', [...this.#target, '-n', ...command])
  }

  /** Resolves with the exit code and the duration in seconds; kills the container after `graceMs`. */
  async stop(signal: NodeJS.Signals, graceMs: number): Promise<{ status: number | null; seconds: number }> {
    const startedAt = performance.now()
    const timer = setTimeout(() => this.#unshare.kill('SIGKILL'), graceMs)
    const [leader] = childrenOf(this.#unshare.pid!)
    if (leader !== undefined) process.kill(leader.pid, signal)
    const status = await this.#ended
    clearTimeout(timer)
    for (const group of this.#cgroups) if (existsSync(group)) rmdirSync(group)
    return { status, seconds: (performance.now() - startedAt) / 1000 }
  }

  /** The most memory that the container has used, with the pages of files; null if the system does not report it. */
  memoryPeakMib(): number | null {
    const text = this.#read('memory.max_usage_in_bytes', 'memory.peak')
    return text === null ? null : Number(text) / 1024 / 1024
  }

  /** The seconds for which the container waited because of its limit of processor time; null if it has none. */
  cpuWaitSeconds(): number | null {
    const stat = this.#read('cpu.stat') ?? ''
    const [, unit = '', time = ''] = /^throttled_(time|usec) (\d+)$/m.exec(stat) ?? []
    return time === '' ? null : Number(time) / (unit === 'time' ? 1e9 : 1e6)
  }

  /** The first of these files of its control groups. */
  #read(...names: readonly string[]): string | null {
    const files = this.#cgroups.flatMap((group) => names.map((name) => join(group, name)))
    const file = files.find((path) => existsSync(path))
    return file === undefined ? null : readFileSync(file, 'utf8')
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const end = performance.now() + waitMsMax
    while (!holds()) {
      if (performance.now() > end || this.#unshare.exitCode !== null)
        throw new Error(`not ${what}: ${this.log.slice(-2000)}`)
      await delay(100)
    }
  }

  get #target(): string[] {
    const [leader] = childrenOf(this.#unshare.pid!)
    return ['-t', String(leader?.pid)]
  }
}

/**
 * Control groups with the limits, as far as this machine has their controllers: one group for all in version 2 of cgroups, one
 * per controller in version 1.
 */
function limitedGroups({ memoryBytesMax, cpusMax, processesMax }: ContainerOptions): readonly string[] {
  const hierarchies = ['', 'memory', 'cpu', 'pids'].map((name) => join(cgroups, name))
  const limits = {
    'memory.limit_in_bytes': memoryBytesMax,
    'memory.max': memoryBytesMax,
    'cpu.cfs_period_us': cpuPeriodUs,
    'cpu.cfs_quota_us': cpusMax * cpuPeriodUs,
    'cpu.max': `${cpusMax * cpuPeriodUs} ${cpuPeriodUs}`,
    'pids.max': processesMax,
  }
  return hierarchies
    .filter((hierarchy) => existsSync(join(hierarchy, 'cgroup.procs')))
    .map((hierarchy) => {
      const group = join(hierarchy, `understudy-install-${process.pid}`)
      mkdirSync(group, { recursive: true })
      for (const [file, value] of Object.entries(limits))
        if (existsSync(join(group, file))) writeFileSync(join(group, file), String(value))
      return group
    })
}

function ran(program: string, args: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  return { status, text: stdout + stderr }
}
