/**
 * A root directory that contains a program, the libraries that its loader needs and nothing else, and processes in it:
 * read-only but for /data and /tmp, with /dev/null, without /proc, a network other than its own loopback, or privileges.
 * Needs root, and unshare(1), nsenter(1) and ip(8).
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chownSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The user and group in the root: nobody. */
const user = 65534

/** Why processes cannot be isolated here; null if they can. */
export function missingForEmptyRoot(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs root on Linux'
  const { status, stderr } = spawnSync(
    'unshare',
    ['--net', '--mount', 'sh', '-c', 'ip link set lo up && nsenter --version'],
    {
      encoding: 'utf8',
    },
  )
  return status === 0 ? null : `unshare, ip and nsenter do not work here: ${stderr}`
}

/** Paths of the libraries of the system that programs and libraries need, by ldd(1). */
export function systemLibraries(files: readonly string[]): string[] {
  const { stdout } = spawnSync('ldd', files, { encoding: 'utf8' })
  const found = stdout.matchAll(/^\s+(?:\S+ => )?(\/lib\S+) \(0x/gm)
  return [...new Set([...found].map(([, path]) => path ?? ''))].sort()
}

/** Copies libraries into a root to where the loader looks for them, and makes the directories that it needs. */
export function prepareRoot(root: string, libraries: readonly string[]): void {
  for (const path of libraries) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    copyFileSync(path, join(root, path))
  }
  for (const directory of ['data', 'dev', 'tmp']) mkdirSync(join(root, directory))
  writeFileSync(join(root, 'dev/null'), '')
  chownSync(join(root, 'data'), user, user)
}

/** Starts a program of the root with this environment and no other. Its process id is that of the program. */
export function spawnInRoot(
  root: string,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  // Each program executes the next one in the same process, so that signals reach the last one.
  const script = `set -e
    root=$1; shift
    ip link set lo up
    mount --bind "$root" "$root"
    mount --bind "$root/data" "$root/data"
    mount --bind /dev/null "$root/dev/null"
    mount -t tmpfs -o nodev,nosuid,noexec,mode=1777 tmpfs "$root/tmp"
    mount -o remount,ro,bind "$root"
    exec env -i "$@"`
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const chroot = spawnSync('sh', ['-c', 'command -v chroot'], { encoding: 'utf8' }).stdout.trim()
  const isolated = [...variables, chroot, `--userspec=${user}:${user}`, root, ...command]
  return spawn('unshare', ['--net', '--mount', 'sh', '-c', script, 'sh', root, ...isolated], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs a program of this machine in the network of a process, with text on its standard input. */
export function runInNetworkOf(pid: number, command: readonly string[], input: string): string {
  const { status, stdout, stderr } = spawnSync('nsenter', ['-t', String(pid), '-n', ...command], {
    input,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return stdout
}
