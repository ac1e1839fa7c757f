/** How the service starts: what prevents it, with its exit code and line; and what a start makes, prints and logs. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLmdbStore } from '../../src/store/index.js'
import { databasePath, openDatabases } from '../../src/store/lmdb/environment.js'
import type { Databases } from '../../src/store/records/databases.js'
import { candidate, cycleBody } from '../helpers/bodies.js'
import { executable, freePort, projectDir, ServerProcess } from '../harness/server.js'
import { ended, scratchDir, started } from '../helpers/servers.js'

const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('UNDERSTUDY_')),
)

const withoutWarnings = (stderr: string): string => stderr.replace(/^understudy: warning: .*\n/gm, '')

async function listening(port: number): Promise<Server> {
  const server = createServer()
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return server
}

describe('is prevented', () => {
  let other: Server
  let taken: number
  let free: number

  beforeAll(async () => {
    other = await listening(0)
    taken = (other.address() as AddressInfo).port
    free = await freePort()
  })
  afterAll(() => void other.close())

  const inUse = (flag: string): string =>
    `understudy: cannot listen on 127.0.0.1:${taken}: the port is in use; choose another one with ${flag}\n`

  interface Row {
    readonly args: () => readonly string[]
    readonly status: 1 | 2
    readonly stderr: () => string | RegExp
  }

  test.each<[string, Row]>([
    [
      'an unknown option',
      { args: () => ['--prot', '1'], status: 2, stderr: () => /unknown option '--prot'/ },
    ],
    [
      'a port that is no number',
      {
        args: () => ['--port', 'x'],
        status: 2,
        stderr: () => /^understudy: port \(from --port\) must be an integer/,
      },
    ],
    [
      'an unknown level of the log',
      { args: () => ['--log-level', 'loud'], status: 2, stderr: () => /logLevel/ },
    ],
    ['a port in use', { args: () => ['--port', String(taken)], status: 1, stderr: () => inUse('--port') }],
    [
      'a port of the admin listener in use',
      {
        args: () => ['--port', '0', '--admin-port', String(taken)],
        status: 1,
        stderr: () => inUse('--admin-port'),
      },
    ],
    [
      'one port for both',
      {
        args: () => ['--port', String(free), '--admin-port', String(free)],
        status: 2,
        stderr: () => `understudy: port and adminPort must differ; both are ${free}\n`,
      },
    ],
    [
      'an address of another machine',
      {
        args: () => ['--port', '0', '--host', '192.0.2.1'],
        status: 1,
        stderr: () =>
          /^understudy: cannot listen on 192\.0\.2\.1:0: the host is not an address of this machine; .*--host\n$/,
      },
    ],
  ])('by %s, before anything is written', (_, { args, status, stderr }) => {
    const dataDir = join(scratchDir(), 'data')
    const result = spawnSync(executable, ['serve', '--data-dir', dataDir, ...args()], {
      encoding: 'utf8',
      env: environment,
      // A service that starts does not end.
      timeout: 60_000,
    })
    const expected = stderr()
    const line = withoutWarnings(result.stderr)
    if (typeof expected === 'string') expect(line).toBe(expected)
    else expect(line).toMatch(expected)
    expect(line).toMatch(/^understudy: [^\n]*\n$/)
    expect({ status: result.status, stdout: result.stdout }).toEqual({ status, stdout: '' })
    expect(existsSync(dataDir)).toBe(false)
  })

  test('with a stack trace if UNDERSTUDY_DEBUG is set', () => {
    const { stderr } = spawnSync(executable, ['serve', '--log-level', 'loud'], {
      encoding: 'utf8',
      env: { ...environment, UNDERSTUDY_DEBUG: '1' },
    })
    expect(stderr).toMatch(/\n\s+at /)
  })

  test.each([
    ['/dev/null', '/dev/null (from --data-dir) is not a directory\n'],
    ['/dev/null/x', ' cannot be created: /dev/null is not a directory\n'],
    ['/proc/understudy', ' (from --data-dir) cannot be created or written: '],
  ])('by the data directory %s', (directory, problem) => {
    const args = ['serve', '--port', '0', '--data-dir', directory]
    const { status, stderr } = spawnSync(executable, args, { encoding: 'utf8', env: environment })
    expect(stderr).toContain(problem)
    expect(withoutWarnings(stderr)).toMatch(/^understudy: the data directory [^\n]*\n$/)
    expect(status).toBe(2)
  })

  test('by a data directory in use, into which it writes nothing', async () => {
    const dataDir = join(scratchDir(), 'in use')
    const store = await openLmdbStore({ dataDir })
    const before = readdirSync(dataDir)
    const args = ['serve', '--data-dir', dataDir, '--port', '0']
    const { status, stderr } = spawnSync(executable, args, { encoding: 'utf8', env: environment })
    expect(stderr).toMatch(/^understudy: [^\n]*\n$/)
    expect(stderr).toContain(`the data directory ${dataDir} is in use by process ${process.pid}`)
    expect({ status, names: readdirSync(dataDir) }).toEqual({ status: 1, names: before })
    await store.close()
  })

  test('by a low limit of address space, before anything is written', () => {
    for (const kibibytes of [600_000, 4_000_000, 16_000_000, 70_000_000]) {
      const dataDir = join(scratchDir(), 'data')
      const command = `ulimit -c 0; ulimit -v ${kibibytes}; exec '${executable}' serve --port 0 --data-dir '${dataDir}'`
      const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' })
      expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' })
      expect(stderr).toMatch(/^understudy: .* ulimit -v unlimited\n$/)
      expect(existsSync(dataDir)).toBe(false)
    }
  })

  test('by a stored pool that cannot be read, with the file and the remedy', async () => {
    const dataDir = scratchDir()
    const server = ended(new ServerProcess({}, { dataDir }))
    await server.start()
    expect((await server.postCycle(cycleBody(0, { candidates: [candidate('g', 1)] }))).status).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
    const way = `understudy: ${databasePath(dataDir)} must be restored from a backup: `
    const change = async (apply: (databases: Databases) => unknown): Promise<void> => {
      const databases = await openDatabases(dataDir, 2 ** 30)
      databases.root.transactionSync(() => void apply(databases))
      await databases.root.close()
    }
    // Without its snapshot the pool is planned from the requests; without these too, it cannot be loaded.
    await change(({ pool }) => pool.put(1, Uint8Array.of(1, 2, 3)))
    await server.start()
    await server.kill('SIGKILL')
    await change(({ pool, requests }) => {
      for (const position of [...pool.getKeys({})]) pool.remove(position)
      requests.remove(1)
    })
    await expect(server.start()).rejects.toThrow(`${way}the store has no request at position 1`)
  })

  test('of a demo by a port in use', () => {
    const args = ['demo', '--port', String(taken)]
    const { status, stderr } = spawnSync(executable, args, {
      encoding: 'utf8',
      cwd: scratchDir(),
      env: environment,
    })
    expect({ status, stderr }).toEqual({ status: 1, stderr: inUse('--port') })
  })

  test('without an open handle that keeps the process alive', async () => {
    // Other than `understudy serve`, which tries the port before, and ends whatever is left.
    const env = {
      UNDERSTUDY_PORT: String(taken),
      UNDERSTUDY_DATA_DIR: scratchDir(),
      UNDERSTUDY_API_KEYS: 'key-for-the-tests-0123456789',
      UNDERSTUDY_LOG_LEVEL: 'info',
    }
    const script = `
      import { readSettings } from '${join(projectDir, 'dist/cli/settings/read-settings.js')}'
      import { startServer } from '${join(projectDir, 'dist/server/index.js')}'
      const { settings } = readSettings({ flags: {}, env: ${JSON.stringify(env)}, directory: '/' })
      await startServer(settings).catch((error) => console.log(error.message))`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const late = setTimeout(() => child.kill('SIGKILL'), 45_000)
    const how = (await once(child, 'close')) as unknown[]
    clearTimeout(late)
    expect(output).toContain('model now serving')
    expect(output).toContain('cannot listen on 127.0.0.1:')
    expect(how).toEqual([0, null])
  })
})

test('without a key it generates one that only the owner can read, keeps it across restarts and never prints it', async () => {
  const server = await started({ UNDERSTUDY_API_KEYS: '' })
  const file = join(server.dataDir, 'api-key')
  const key = readFileSync(file, 'utf8').trim()
  expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const isAccepted = async (): Promise<void> => {
    await server.logged(file)
    expect(server.log).not.toContain(key)
    expect((await server.call({ path: '/v1/weights', key })).status).toBe(200)
  }
  await server.logged('generated one')
  await isAccepted()
  expect(await server.kill('SIGTERM')).toBe(0)
  await server.start()
  await server.logged('using the keys')
  await isAccepted()
  expect(readFileSync(file, 'utf8').trim()).toBe(key)
})

test('the log states that a database is new, and warns of an empty file in its place', async () => {
  const dataDir = scratchDir()
  const server = ended(new ServerProcess({}, { dataDir }))
  const start = async (): Promise<string[]> => {
    await server.start()
    await server.kill('SIGTERM')
    return server.log.split('\n').filter((line) => line.includes('new database'))
  }
  const file = databasePath(dataDir)
  const [made, ...more] = await start()
  expect(JSON.parse(made ?? '')).toMatchObject({ level: 30, file, msg: 'a new database was created' })
  expect(more).toEqual([])
  expect(await start()).toEqual([])
  truncateSync(file)
  const warning = { level: 40, file, msg: 'database file was empty; created a new database' }
  expect((await start()).map((line) => JSON.parse(line) as unknown)).toMatchObject([warning])
})

test('a model that does not load is logged in one line without a stack trace, and the service starts', async () => {
  const server = await started({ UNDERSTUDY_MODELS_DIR: '/nowhere' })
  expect(server.log).toContain('"problem":"the models directory /nowhere does not exist"')
  expect(server.log).not.toContain('stack')
})

test('a server that receives no cycle warms up completely', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'debug' })
  await server.logged(/"cycles":30,"ms":\d+,"msg":"warm-up finished"/)
  expect((await server.call({ path: '/v1/health' })).json).toMatchObject({ last_cycle_id: null })
})

describe('the admin listener', () => {
  const apiKey = 'key-for-the-tests-0123456789'

  test('whose default port is in use causes one message, and the service starts without it', async () => {
    const other = await listening(8081).catch(() => null)
    const one = ended(new ServerProcess({ UNDERSTUDY_ADMIN_PORT: '' }))
    await one.start()
    expect(one.log).toContain(
      'understudy: no admin listener: cannot listen on 127.0.0.1:8081: the port is in use',
    )
    expect((await one.call({ path: '/v1/health' })).status).toBe(200)
    other?.close()
  })

  test('that is off opens nothing and makes no token', async () => {
    const one = await started()
    expect(one.log).not.toContain('admin')
    expect(existsSync(join(one.dataDir, 'admin-token'))).toBe(false)
  })

  test('uses a token of the environment, and prints and writes it nowhere', async () => {
    const port = await freePort()
    const secret = 'token-of-the-environment'
    const one = await started({ UNDERSTUDY_ADMIN_PORT: String(port), UNDERSTUDY_ADMIN_TOKEN: secret })
    const headers = { authorization: `Bearer ${secret}` }
    expect((await fetch(`http://127.0.0.1:${port}/api/now`, { headers })).status).toBe(200)
    expect(one.log).not.toContain(secret)
    expect(existsSync(join(one.dataDir, 'admin-token'))).toBe(false)
  })

  test('prevents the start with a token that is an API key', async () => {
    const one = ended(
      new ServerProcess({
        UNDERSTUDY_ADMIN_PORT: '0',
        UNDERSTUDY_API_KEYS: apiKey,
        UNDERSTUDY_ADMIN_TOKEN: apiKey,
      }),
    )
    await expect(one.start()).rejects.toThrow('the admin token must not be an API key')
  })

  test.each<[string, (file: string) => string, RegExp]>([
    [
      'omits the token if standard error is the journal',
      (file) => `${statSync(file).dev}:${statSync(file).ino}`,
      /\/ with the token in .*admin-token$/,
    ],
    ['has the token if a process of a unit writes to a file', () => '0:0', /\/\?token=[\w-]+$/],
  ])('prints an address that %s', async (_, journalStream, expected) => {
    const directory = scratchDir()
    const file = join(directory, 'stderr')
    const stderr = openSync(file, 'w')
    const args = ['serve', '--port', '0', '--admin-port', '0', '--data-dir', join(directory, 'data')]
    const env = { ...environment, JOURNAL_STREAM: journalStream(file) }
    const child = spawn(executable, args, { env, stdio: ['ignore', 'ignore', stderr] })
    const address = (): string => /understudy: admin: (.*)/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
    await expect.poll(address).not.toBe('')
    child.kill()
    await once(child, 'exit')
    closeSync(stderr)
    expect(address()).toMatch(expected)
  })
})
