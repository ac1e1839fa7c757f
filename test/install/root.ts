/**
 * A Debian root directory with systemd, made by mmdebstrap from the package sources of this machine. It takes a minute, so it
 * is kept as an archive in INSTALL_ROOT_CACHE, by default in the temporary directory.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** curl is that of the commands in docs/install.md. */
const packages = ['systemd', 'systemd-sysv', 'dbus', 'curl']
const cacheDir = process.env['INSTALL_ROOT_CACHE'] ?? join(tmpdir(), 'understudy-install-roots')

/** Standard output of a command, which must succeed. */
export function output(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr + stdout}`)
  return stdout
}

/** Why this machine cannot make and boot a root; null if it can try. */
export function missingForInstall(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs root on Linux'
  const programs = ['mmdebstrap', 'systemd-nspawn', 'buildah', 'openssl', 'ip', 'nsenter']
  const missing = programs.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  if (missing.length > 0) return `${missing.join(', ')} not installed`
  if (debianSources().length === 0) return 'it has no package sources of Debian'
  return null
}

/** The archive of the root. */
export function rootArchive(print: (line: string) => void): string {
  const suite = /^VERSION_CODENAME=(\w+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm'
  const sources = debianSources()
  const identity = [suite, ...packages, ...sources.map((file) => readFileSync(file, 'utf8'))].join('\n')
  const name = `${suite}-${createHash('sha256').update(identity).digest('hex').slice(0, 12)}.tar`
  const archive = join(cacheDir, name)
  if (existsSync(archive)) return archive
  print(`making ${archive} …`)
  mkdirSync(cacheDir, { recursive: true })
  const unfinished = join(cacheDir, `${process.pid}-${name}`)
  const options = ['--variant=minbase', `--include=${packages.join()}`, '--skip=output/dev', '--quiet']
  output('mmdebstrap', [...options, suite, unfinished, ...sources])
  renameSync(unfinished, archive)
  return archive
}

export function unpackRoot(archive: string, directory: string): void {
  mkdirSync(directory, { recursive: true })
  output('tar', ['-xpf', archive, '-C', directory])
}

/** Files of this machine that name Debian's own archive, and no other. */
function debianSources(): string[] {
  const directory = '/etc/apt/sources.list.d'
  const listed = existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : []
  return ['/etc/apt/sources.list', ...listed]
    .filter((file) => /\.(list|sources)$/.test(file) && existsSync(file))
    .filter((file) => /^(URIs:|deb) .*\/debian\b/m.test(readFileSync(file, 'utf8')))
}
