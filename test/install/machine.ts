/**
 * A machine that systemd-nspawn boots from a root directory: systemd is its process 1, and its network is a loopback of its own.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf } from '../harness/proc.js'

const bootMsMax = 180_000
const pollMs = 100
const environment = [
  'HOME=/root',
  'LANG=C.UTF-8',
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
]

export interface Ran {
  readonly status: number | null
  /** Standard output and standard error. */
  readonly text: string
}

export class Machine {
  readonly #nspawn: ChildProcess
  readonly #started: ChildProcess[] = []
  readonly #leader: number

  private constructor(nspawn: ChildProcess, leader: number) {
    this.#nspawn = nspawn
    this.#leader = leader
  }

  /** Rejects with the output of systemd-nspawn if the machine does not boot. */
  static async boot(root: string, name: string): Promise<Machine> {
    const flags = ['--boot', '--register=no', '--keep-unit', '--private-network', '--console=pipe']
    // IPAddressDeny of units is a BPF program.
    const forBpf = ['--capability=CAP_BPF', '--system-call-filter=bpf']
    const nspawn = spawn(
      'systemd-nspawn',
      [`--directory=${root}`, `--machine=${name}`, ...flags, ...forBpf],
      {
        env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let printed = ''
    for (const stream of [nspawn.stdout, nspawn.stderr])
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    const until = performance.now() + bootMsMax
    while (performance.now() < until && nspawn.exitCode === null) {
      await delay(pollMs)
      const leader = nspawn.pid === undefined ? undefined : childrenOf(nspawn.pid)[0]?.pid
      if (leader === undefined) continue
      const machine = new Machine(nspawn, leader)
      const { text } = machine.run(['systemctl', 'is-system-running'])
      if (/^(running|degraded)\n/.test(text)) return machine
    }
    nspawn.kill('SIGKILL')
    throw new Error(`systemd-nspawn boots no machine here: ${printed.trim() || 'no output'}`)
  }

  /** Runs a program in the machine, as root and outside of its units. */
  run(command: readonly string[], input = ''): Ran {
    const { status, stdout, stderr } = spawnSync('nsenter', this.#inside(command), {
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    })
    return { status, text: stdout + stderr }
  }

  /** Runs a shell script that ends at the first command that fails; throws if one does. */
  shell(script: string, input = ''): string {
    const { status, text } = this.run(['sh', '-ec', `cd /root\n${script}`], input)
    if (status !== 0) throw new Error(`status ${status}: ${text.trim()}`)
    return text
  }

  /** Starts a program that runs while the test continues. */
  start(command: readonly string[]): { readonly ended: Promise<Ran> } {
    const child = spawn('nsenter', this.#inside(command), { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#started.push(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    return { ended: new Promise((done) => child.once('close', (status) => done({ status, text }))) }
  }

  /** Adds an address to the loopback interface of the machine. */
  addAddress(address: string): void {
    spawnSync('nsenter', [
      '-t',
      String(this.#leader),
      '-n',
      'ip',
      'address',
      'add',
      `${address}/32`,
      'dev',
      'lo',
    ])
  }

  async powerOff(): Promise<void> {
    const nspawn = this.#nspawn
    if (nspawn.exitCode === null && nspawn.signalCode === null) {
      const ended = new Promise((done) => nspawn.once('close', done))
      this.run(['systemctl', 'poweroff', '--no-block'])
      const timer = setTimeout(() => nspawn.kill('SIGKILL'), 20_000)
      await ended
      clearTimeout(timer)
    }
    // systemd stops all processes before it ends them, and nsenter stops with its program: it would never continue.
    for (const child of this.#started) child.kill('SIGKILL')
  }

  #inside(command: readonly string[]): string[] {
    return [
      '-t',
      String(this.#leader),
      '-m',
      '-u',
      '-i',
      '-n',
      '-p',
      '-C',
      '-r',
      '-w',
      'env',
      '-i',
      ...environment,
      ...command,
    ]
  }
}
