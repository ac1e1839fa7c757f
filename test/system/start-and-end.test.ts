/** How the server starts and ends, and what happens to its process if something prevents that. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { CycleResponse } from '../../src/contract/index.js'
import { databasePath, openDatabases } from '../../src/store/lmdb/environment.js'
import type { Databases } from '../../src/store/records/databases.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { executable, freePort, projectDir, ServerProcess } from '../harness/server.js'
import { ended, scratchDir, started } from '../helpers/servers.js'

test('startup on a port in use leaves no handle open that keeps the process alive', async () => {
  // Other than `understudy serve`, which tries the port before, and ends whatever is left.
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const env = {
    UNDERSTUDY_PORT: String((taken.address() as AddressInfo).port),
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
  const [code, signal] = await new Promise<unknown[]>((resolve) => {
    child.once('close', (...how) => resolve(how))
  })
  clearTimeout(late)
  taken.close()
  expect(output).toContain('model now serving')
  expect(output).toContain('cannot listen on 127.0.0.1:')
  expect({ code, signal }).toEqual({ code: 0, signal: null })
})

test.each([
  ['an exception', `throw new Error('planted')`],
  ['a rejection', `Promise.reject(new Error('planted'))`],
])('%s that no code handles ends the process with one line in the log', async (_, failing) => {
  const code = `process.on('SIGUSR2', () => { ${failing} })`
  const server = await started({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })
  expect(await server.kill('SIGUSR2')).toBe(1)
  const last = JSON.parse(server.log.trimEnd().split('\n').at(-1) ?? '') as object
  expect(last).toMatchObject({
    level: 60,
    msg: 'unexpected error: the process ends',
    err: { message: 'planted' },
  })
})

test('a failure of work in the background is an error in the log with the name of the work', async () => {
  const code = `
    import { inBackground } from '${pathToFileURL(join(projectDir, 'dist/base/index.js')).href}'
    process.on('SIGUSR2', () => {
      inBackground('image encoding', Promise.reject(new Error('planted')))
      process.kill(process.pid, 'SIGTERM')
    })`
  const server = await started({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` })
  expect(await server.kill('SIGUSR2')).toBe(0)
  const lines = server.log.trimEnd().split('\n')
  const failed = lines.filter((line) => line.includes('background work failed'))
  expect(failed.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 50, work: 'image encoding', err: { message: 'planted' } },
  ])
})

test('a server that is asked to end logs that it begins to, and last of all that it has', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'info' })
  expect(await server.kill('SIGTERM')).toBe(0)
  const messages = server.log
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(messages.at(-1)).toBe('stopped')
  expect(messages).toContain('stopping')
})

test('a server that receives no cycle warms up completely', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'debug' })
  await server.logged(/"cycles":30,"ms":\d+,"msg":"warm-up finished"/)
  expect((await server.call({ path: '/v1/health' })).json).toMatchObject({ last_cycle_id: null })
})

test('startup under a low address-space limit prints one error line and writes nothing', () => {
  for (const kibibytes of [600_000, 4_000_000, 16_000_000, 70_000_000]) {
    const dataDir = join(scratchDir(), 'data')
    const command = `ulimit -c 0; ulimit -v ${kibibytes}; exec '${executable}' serve --port 0 --data-dir '${dataDir}'`
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' })
    expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^understudy: .* ulimit -v unlimited\n$/)
    expect(existsSync(dataDir)).toBe(false)
  }
})

test('startup that cannot read the stored pool names the file and the remedy', async () => {
  const dataDir = scratchDir()
  const server = new ServerProcess({}, { dataDir })
  ended(server)
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
  await change(({ pool }) => pool.putSync(1, Uint8Array.of(1, 2, 3)))
  await server.start()
  await server.kill('SIGKILL')
  await change(({ pool, requests }) => {
    for (const position of [...pool.getKeys({})]) pool.removeSync(position)
    requests.removeSync(1)
  })
  await expect(server.start()).rejects.toThrow(`${way}the store has no request at position 1`)
})

test('the log states that a database is new, and warns of an empty file in its place', async () => {
  const dataDir = scratchDir()
  const server = new ServerProcess({}, { dataDir })
  ended(server)
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

describe('SIGTERM', () => {
  /** A busy machine takes its time. */
  const longEnd = { UNDERSTUDY_SHUTDOWN_MS_MAX: '30000' }
  const many = Array.from({ length: 4500 }, (_, n) => n + 1)
  const large = cycleBody(0, {
    candidates: many.map((n) => candidate('g', n)),
    engagement: many.map((n) => reading('g', n, cycleMs(0))),
  })

  test('ends the server with 0 after the cycle in progress, without waiting for stalled or idle clients', async () => {
    const server = await started({ UNDERSTUDY_LOG_LEVEL: 'debug', ...longEnd })
    const idle = connect(server.port, '127.0.0.1')
    const stalled = connect(server.port, '127.0.0.1')
    idle.on('error', () => undefined)
    stalled.on('error', () => undefined)
    const refused = new Promise<string>((resolve) =>
      stalled.once('data', (data: Buffer) => resolve(data.toString())),
    )
    stalled.write(
      `POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\nContent-Length: 100\r\n\r\n{`,
    )
    const begun = server.postCycle(large)
    await server.logged('"msg":"cycle started"')
    const code = server.kill('SIGTERM')
    const reply = await begun
    expect(reply.status).toBe(200)
    expect((reply.json as CycleResponse).results).toHaveLength(many.length)
    expect(await refused).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s)
    expect(await code).toBe(0)
    await server.start()
    expect((await server.call({ path: `/v1/scores/${large.cycle_id}` })).text).toBe(reply.text)
  })

  test('sends 503 to a client that is sending a large cycle, once the body is complete', async () => {
    const server = await started(longEnd)
    const body = Buffer.alloc(16_000_000, ' ')
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\n`)
    socket.write(`Content-Length: ${body.length}\r\n\r\n`)
    // Its head has arrived when another call gets its response.
    await server.call({ path: '/v1/health' })
    const code = server.kill('SIGTERM')
    await server.logged('"msg":"stopping"')
    socket.write(body)
    let response = ''
    for await (const chunk of socket) response += String(chunk)
    expect(response).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s)
    expect(await code).toBe(0)
  })

  test('sends 503 to a client whose body is incomplete at the time limit', async () => {
    const server = await started({ UNDERSTUDY_SHUTDOWN_MS_MAX: '1500' })
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    const response = new Promise<string>((resolve) =>
      socket.once('data', (data: Buffer) => resolve(data.toString())),
    )
    socket.write(`POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\n`)
    socket.write(`Content-Length: 16000000\r\n\r\n`)
    await server.call({ path: '/v1/health' })
    const code = server.kill('SIGTERM')
    socket.write(Buffer.alloc(100_000, ' '))
    expect(await response).toMatch(/^HTTP\/1\.1 503 /)
    expect(await code).toBe(0)
  })

  /** Sends a cycle whose response exceeds the buffers of two sockets, stops the server, and returns the connection. */
  async function stopWithUnreadResponse(shutdownMsMax: number) {
    const server = await started({
      UNDERSTUDY_LOG_LEVEL: 'debug',
      UNDERSTUDY_SHUTDOWN_MS_MAX: String(shutdownMsMax),
    })
    const body = JSON.stringify(
      cycleBody(0, { engagement: many.map((n) => reading('긴'.repeat(1000), n, cycleMs(0))) }),
    )
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    const answered = new Promise<void>((resolve) => socket.once('readable', resolve))
    socket.write(`POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\n`)
    socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    await server.logged('"msg":"cycle started"')
    const code = server.kill('SIGTERM')
    await answered
    return { server, socket, code }
  }

  test('waits until a slow client has read its large response to the last byte', async () => {
    const { socket, code } = await stopWithUnreadResponse(30_000)
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    const [head = '', json = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    expect(Number(/Content-Length: (\d+)/i.exec(head)?.[1])).toBeGreaterThan(12_000_000)
    expect((JSON.parse(json) as CycleResponse).results).toHaveLength(many.length)
    expect(await code).toBe(0)
  })

  test('ends with 0 although a client never reads its response', async () => {
    const { server, socket, code } = await stopWithUnreadResponse(3000)
    expect(await code).toBe(0)
    await server.logged('"msg":"stopped"')
    socket.destroy()
  })
})

test('SIGTERM during startup ends the server with 0', async () => {
  const server = new ServerProcess()
  try {
    const starting = server.start().catch(() => null)
    while (!server.log.includes('"msg"')) await new Promise((resolve) => setImmediate(resolve))
    expect(await server.kill('SIGTERM')).toBe(0)
    await starting
  } finally {
    await server.dispose()
  }
})

describe('startup', () => {
  const serve = (env: Record<string, string>) =>
    spawnSync(executable, ['serve'], { env: { ...process.env, ...env }, encoding: 'utf8', timeout: 30_000 })

  test('on a data directory in use fails with a line that names the process', async () => {
    const server = await started()
    const { status, stderr } = serve({
      UNDERSTUDY_DATA_DIR: server.dataDir,
      UNDERSTUDY_PORT: String(await freePort()),
      UNDERSTUDY_API_KEYS: 'another-key-0123456789',
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toMatch(new RegExp(`\\b${server.pid}\\b`))
  })

  test('on a port in use fails with a line that names the port', async () => {
    const server = await started()
    const { status, stderr } = serve({
      UNDERSTUDY_DATA_DIR: scratchDir(),
      UNDERSTUDY_PORT: String(server.port),
      UNDERSTUDY_API_KEYS: 'another-key-0123456789',
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain(String(server.port))
  })

  test('without a key generates one that only the owner can read, and keeps it', async () => {
    const server = await started({ UNDERSTUDY_API_KEYS: '' })
    const file = join(server.dataDir, 'api-key')
    const key = readFileSync(file, 'utf8').trim()
    expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await server.logged(file)
    expect(server.log).not.toContain(key)
    expect((await server.call({ path: '/v1/weights', key })).status).toBe(200)
    await server.restart()
    expect(readFileSync(file, 'utf8').trim()).toBe(key)
  })
})
