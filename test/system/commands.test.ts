/**
 * The commands as real processes: exit codes, what is printed where, signals. Runs what `npm run build` made.
 */
import { spawn, spawnSync, type ChildProcess, type SpawnSyncReturns } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { executable as understudy, freePort, projectDir } from '../harness/server.js'
import { openLmdbStore } from '../../src/store/index.js'
import { ensureGeneratedKey } from '../../src/cli/settings/api-keys.js'
import { packageVersion } from '../../src/cli/package-info.js'

const root = mkdtempSync(join(tmpdir(), 'understudy-commands-'))
afterAll(() => rmSync(root, { recursive: true }))

const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('UNDERSTUDY_')),
)

function call(args: string[], env: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> {
  return spawnSync(understudy, args, { cwd: root, encoding: 'utf8', env: { ...environment, ...env } })
}

const running = new Set<ChildProcess>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
  running.clear()
})

interface Running {
  readonly child: ChildProcess
  readonly output: Promise<string>
  readonly stderr: Promise<string>
  readonly ended: Promise<number | string | null>
}

function start(args: string[], env: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(understudy, args, {
    cwd: root,
    env: { ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const ended = new Promise<number | string | null>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code))
  })
  return { child, output: text(child.stdout), stderr: text(child.stderr), ended }
}

describe('wrong usage', () => {
  test.each([
    [[], 2, ''],
    [['perform'], 2, "understudy: unknown command 'perform'\n"],
    [['sql', '-- a\nSELECT 1'], 2, 'understudy: an argument that begins with - needs the argument --'],
    [['simulate', '--hours', 'x'], 2, "understudy: option '--hours <number>' argument 'x' is invalid"],
    [['serv'], 2, "understudy: unknown command 'serv' (Did you mean serve?)\n"],
    [['simulate', '--data-dir', 'nowhere'], 2, 'understudy: no API key: set UNDERSTUDY_API_KEYS'],
    [['simulate', '--api-key', 'k'], 2, "understudy: unknown option '--api-key'"],
    [['demo', '--port', '-1'], 2, "argument '-1' is invalid. It must be an integer from 0 to 65535.\n"],
    [
      ['config', '--api-keys-file', '/none'],
      2,
      'understudy: apiKeysFile (from --api-keys-file): /none cannot',
    ],
  ])('%j ends with %i and prints the reason to stderr', (args, code, message) => {
    const { status, stdout, stderr } = call(args)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/\n\s+at /)
    expect(stdout).toBe('')
    expect(status).toBe(code)
  })

  test.each([
    [
      ['--hours', '0'],
      2,
      'understudy: --hours must be a multiple of 5 minutes (1/12), at most 8784, not 0\n',
    ],
    [['--start-at', 'noon'], 2, 'understudy: --start-at must be a date-time with an offset, such as'],
    [['--posts-per-day', '-1'], 2, 'understudy: --posts-per-day must be a number from 0 to 4500, not -1\n'],
    [
      ['--retry-timeout', '1e9'],
      2,
      'understudy: --retry-timeout must be a number from 0 to 86400, not 1000000000\n',
    ],
    [['--url', 'localhost'], 2, 'understudy: --url must be an http or https URL, not "localhost"\n'],
    [['--url', 'http://127.0.0.1:1', '--retry-timeout', '0'], 1, 'understudy: '],
  ])('simulate %j exits with %i and names the flag', (args, code, message) => {
    const { status, stdout, stderr } = call(['simulate', ...args], {
      UNDERSTUDY_API_KEYS: 'any-key-at-all-will-do',
    })
    expect(stderr).toContain(message)
    expect(stdout).toBe('')
    expect(status).toBe(code)
  })

  test('simulate finds a server that listens on all addresses by the settings', () => {
    const env = { UNDERSTUDY_API_KEYS: 'any-key-at-all-will-do', UNDERSTUDY_HOST: '0.0.0.0' }
    const stderrOf = (port: string): string =>
      call(['simulate', '--retry-timeout', '0'], { ...env, UNDERSTUDY_PORT: port }).stderr
    expect(stderrOf('2')).toContain('connect ECONNREFUSED 127.0.0.1:2; ')
    expect(stderrOf('0')).toBe('understudy: port is 0: use --url with the address printed at startup\n')
  })

  test.each([
    ['--hours', '0', 'must be a multiple of 5 minutes (1/12), at most 8784, not 0'],
    ['--posts-per-day', '-1', 'must be a number from 0 to 4500, not -1'],
    ['--speed', '-1', 'must be a number that is at least 0, not -1'],
  ])('demo %s %s ends with 2 and leaves the data of the last demo', async (flag, value, problem) => {
    const port = await freePort()
    const data = join(root, 'data', 'demo', String(port), 'understudy.mdb')
    mkdirSync(dirname(data), { recursive: true })
    writeFileSync(data, 'of the last demo')
    const { status, stdout, stderr } = call(['demo', '--port', String(port), flag, value])
    expect(stderr).toBe(`understudy: ${flag} ${problem}\n`)
    expect(stdout).toBe('')
    expect(status).toBe(2)
    expect(readFileSync(data, 'utf8')).toBe('of the last demo')
  })
})

test('help and version print to stdout and exit with 0', () => {
  expect(call(['--version'])).toMatchObject({ status: 0, stdout: `${packageVersion()}\n`, stderr: '' })
  expect(call(['--help'])).toMatchObject({ status: 0, stderr: '' })
  expect(call(['serve', '--help']).stdout).toContain('--cycles-waiting-max <value>')
})

test.each([
  [['serve'], true],
  [['models', 'activate'], false],
])('help of %j notes which changes need a restart: %j', (command, hasNote) => {
  const { stdout } = call([...command, '--help'])
  expect(stdout).toContain('--intra-op-threads <value>')
  expect(/A\s+change\s+needs\s+a\s+restart/.test(stdout)).toBe(hasNote)
})

test('config shows the source of each value and no key', () => {
  const key = 'a-key-that-is-not-printed'
  const { stdout, stderr, status } = call(['config', '--json', '--port', '9'], { UNDERSTUDY_API_KEYS: key })
  expect(JSON.parse(stdout)).toMatchObject({
    port: { value: 9, origin: '--port' },
    apiKeys: { value: { count: 1 }, origin: 'UNDERSTUDY_API_KEYS' },
    dataDir: { value: join(root, 'data'), origin: 'default' },
    modelsDir: { value: join(projectDir, 'models') },
  })
  expect(stdout + stderr).not.toContain(key)
  expect(status).toBe(0)
})

describe('a generated key', () => {
  // Root may read everything, and other users may not reach a checkout of root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const unreachable = user.uid !== undefined && spawnSync(understudy, ['--version'], user).status !== 0

  test.skipIf(unreachable).each(['simulate', 'config'])(
    'in a directory that this user may not read is reported by %s with a remedy',
    (command) => {
      const place = mkdtempSync(join(tmpdir(), 'understudy-kept-key-'))
      const dataDir = join(place, 'data')
      onTestFinished(() => {
        chmodSync(dataDir, 0o700)
        rmSync(place, { recursive: true })
      })
      chmodSync(place, 0o755)
      const { file } = ensureGeneratedKey(dataDir, 'api-key')
      chmodSync(dataDir, 0o000)
      const { status, stdout, stderr } = spawnSync(understudy, [command, '--data-dir', dataDir], {
        ...user,
        cwd: place,
        encoding: 'utf8',
        env: environment,
      })
      expect(stderr).toBe(
        `understudy: ${file} cannot be read: EACCES: permission denied, open '${file}'; ` +
          'run this command as the user of the server, or set UNDERSTUDY_API_KEYS\n',
      )
      expect(stdout).toBe('')
      expect(status).toBe(2)
    },
  )

  test('that does not exist is not shown by config', () => {
    const { status, stdout } = call(['config', '--json', '--data-dir', join(root, 'nowhere')])
    expect(JSON.parse(stdout)).toMatchObject({
      apiKeys: { value: { count: 0, sha256: [] }, origin: 'default' },
    })
    expect(status).toBe(0)
  })
})

test.each(['plain', 'sp ace', "owner's $HOME `x`"])(
  'backup into %j prints a command that a shell takes',
  async (name) => {
    const [dataDir, target] = [join(root, 'data of', name), join(root, 'backups', name)]
    await (await openLmdbStore({ dataDir })).close()
    const { stdout } = call(['backup', target, '--data-dir', dataDir])
    const [, args] = /To verify it, run `understudy (.*)`\.\n$/.exec(stdout) ?? []
    const verified = spawnSync('sh', ['-c', `"$0" ${args}`, understudy], {
      encoding: 'utf8',
      env: environment,
    })
    expect(verified).toMatchObject({ status: 0, stderr: '' })
    expect(verified.stdout).toContain(target)
  },
)

test('simulate exits with 1 at the first response that violates the contract, and names it', async () => {
  const server = createHttpServer((_, response) => response.end('{"status":"fine"}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const simulation = start(['simulate', '--url', `http://127.0.0.1:${port}`], {
    UNDERSTUDY_API_KEYS: 'any-key-at-all-will-do',
  })
  expect(await simulation.ended).toBe(1)
  expect(await simulation.stderr).toMatch(
    /^understudy: the service violated the contract: .*health.*: expected .*\n$/,
  )
  server.close()
})

test('the command works from another directory through a link like the one that npx creates', () => {
  const links = join(root, 'node_modules', '.bin')
  mkdirSync(links, { recursive: true })
  symlinkSync(understudy, join(links, 'understudy'))
  const { stdout } = spawnSync(join(links, 'understudy'), ['--version'], { cwd: root, encoding: 'utf8' })
  expect(stdout).toBe(`${packageVersion()}\n`)
})

test
  .skipIf(!existsSync('/dev/full'))
  .each([['openapi'], ['--help'], ['--version'], ['models', 'verify', '--help']])(
  'output that cannot be written is a failure: %s %s',
  (...args) => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(understudy, args.filter(Boolean), {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
      env: environment,
    })
    closeSync(full)
    expect(status).toBe(1)
    expect(stderr).toMatch(/^understudy: the output cannot be written: ENOSPC.*\n$/)
  },
)

test('a proxy of the environment is not asked for a service on this machine', async () => {
  let proxiedCount = 0
  const proxy = createHttpServer((_, response) => void response.writeHead(502).end(String(proxiedCount++)))
  const service = createHttpServer((_, response) => void response.writeHead(401).end())
  const portOf = async (server: typeof proxy): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return (server.address() as AddressInfo).port
  }
  const { ended, stderr } = start(
    ['simulate', '--url', `http://localhost:${await portOf(service)}`, '--hours', '1'],
    {
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: `http://127.0.0.1:${await portOf(proxy)}`,
      NO_PROXY: 'internal.example',
      UNDERSTUDY_API_KEYS: 'key-of-the-proxy-test',
    },
  )
  expect(await ended).toBe(1)
  expect(await stderr).toContain('The key comes from')
  expect(proxiedCount).toBe(0)
})

test.skipIf(spawnSync('script', ['--version']).error !== undefined)(
  'a terminal that reports no width has whole lines',
  () => {
    const printed = (cells: number): string =>
      spawnSync('script', ['-qec', `stty cols ${cells}; ${JSON.stringify(understudy)} config`, '/dev/null'], {
        encoding: 'utf8',
        cwd: root,
        env: environment,
      }).stdout
    expect(printed(0)).toBe(printed(10_000))
  },
)
