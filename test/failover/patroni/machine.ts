/**
 * One machine of a site: a network namespace with an address of its own on the bridge of the site, in which programs run as
 * they would on a machine. `site.ts` makes the bridge. Linux, as root.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const execute = promisify(execFile)
export const bridge = 'understudy0'

export class Machine {
  readonly name: string
  readonly address: string

  constructor(name: string, address: string) {
    this.name = name
    this.address = address
    const ip = (...args: readonly string[]): void => void execFileSync('ip', args)
    ip('netns', 'add', name)
    ip('link', 'add', this.#link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('link', 'set', this.#link, 'master', bridge, 'up')
    ip('-n', name, 'link', 'set', 'lo', 'up')
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
    ip('-n', name, 'link', 'set', 'eth0', 'up')
  }

  get #link(): string {
    return `to-${this.name}`
  }

  /** What runs a program here. */
  get prefix(): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.name]
  }

  /** Starts a program as the user postgres, whose home directory is `home`. Its output is appended to `logFile`. */
  startAsPostgres(home: string, logFile: string, command: readonly string[]): ChildProcess {
    const log = openSync(logFile, 'a')
    const user = [
      'setpriv',
      '--reuid=postgres',
      '--regid=postgres',
      '--init-groups',
      '--',
      'env',
      'LC_ALL=C.UTF-8',
    ]
    // The mounts are seen by this program alone: `ip netns exec` gives it mounts of its own.
    const script = [
      'mount --bind "$1" /var/lib/postgresql',
      'mount -t tmpfs -o mode=1777 tmpfs /run/postgresql',
      'cd / && shift && exec "$@"',
    ].join(' && ')
    const [program, ...args] = [...this.prefix, 'sh', '-c', script, 'sh', home, ...user, ...command]
    const child = spawn(program, args, { stdio: ['ignore', log, log] })
    closeSync(log)
    return child
  }

  /** Ends all processes at the same time, apart from `spared`, as the loss of the machine does. */
  async kill(spared: readonly (number | undefined)[] = []): Promise<void> {
    for (;;) {
      const { stdout } = await execute('ip', ['netns', 'pids', this.name])
      const pids = stdout
        .split('\n')
        .filter(Boolean)
        .map(Number)
        .filter((pid) => !spared.includes(pid))
      if (pids.length === 0) return
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It has ended.
        }
      }
      await delay(10)
    }
  }

  /** Takes the machine from the network, or brings it back. */
  async connect(isConnected: boolean): Promise<void> {
    await execute('ip', ['link', 'set', this.#link, isConnected ? 'up' : 'down'])
  }

  /** Loses what this machine and another one send to each other, or no longer. */
  async route(to: Machine, isOpen: boolean): Promise<void> {
    await execute('ip', ['-n', this.name, 'route', isOpen ? 'del' : 'add', 'blackhole', `${to.address}/32`])
  }
}
