/**
 * Protection of the data (docs/security.md): limits of connections, files that only their owner can read, and a
 * log without secrets. Real processes.
 */
import { spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { childrenOf, commandOf, environmentOf } from '../harness/proc.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { executable, freePort, type ServerProcess } from '../harness/server.js'
import { smallJpeg } from '../harness/jpeg.js'
import { scratchDir, started } from '../helpers/servers.js'

describe('connections', () => {
  /** Opens connections and returns those that the server has accepted. */
  async function open(host: string, port: number, count: number): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () => connect(port, host))
    const fates = sockets.map(
      (socket) =>
        new Promise<boolean>((resolve) => {
          socket.on('error', () => resolve(false))
          socket.on('close', () => resolve(false))
          // An accepted connection gets a response.
          socket.on('data', () => resolve(true))
          socket.write('GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n')
        }),
    )
    const open = await Promise.all(fates)
    return sockets.filter((_, index) => open[index])
  }

  test('past the limit are closed immediately and logged, until others are closed', async () => {
    const server = await started({ UNDERSTUDY_CONNECTIONS_MAX: '16' })
    const held = await open('127.0.0.1', server.port, 40)
    expect(held).toHaveLength(16)
    await server.logged('"connections_max":16')
    await expect(server.call({ path: '/v1/health' })).rejects.toThrow()
    for (const socket of held) socket.destroy()
    while ((await server.call({ path: '/v1/health' }).catch(() => null))?.status !== 200);
  })

  test('that are idle or send a head too slowly are closed', async () => {
    const server = await started()
    const open = (): Socket => connect(server.port, '127.0.0.1').on('error', () => undefined)
    const silent = open()
    const slow = open()
    slow.write('GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    const drip = setInterval(() => slow.write('a'), 500)
    const key = `Authorization: ${server.key}`
    const answered = [
      ['GET /v1/health'],
      ['GET /v1/weights', key],
      ['GET /v1/weights'],
      ['POST /v1/nothing', key, 'Content-Length: 2'],
      ['POST /v1/cycles', key, 'Content-Length: 0'],
    ].map(([line, ...headers]) => {
      const socket = open().resume()
      socket.write([`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n'))
      return socket
    })
    // 10 s as uWebSockets.js counts them; the limit of this test is a minute.
    await Promise.all(
      [silent, slow, ...answered].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
    clearInterval(drip)
  })

  test('with a head that is too long or has too many headers get 431 and are closed', async () => {
    const server = await started()
    for (const header of [`X-Long: ${'a'.repeat(140_000)}`, 'X-Many: a\r\n'.repeat(200).trim()]) {
      const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
      let received = ''
      socket.on('data', (data: Buffer) => (received += data.toString()))
      socket.write(`GET /v1/health HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`)
      await new Promise((resolve) => socket.once('close', resolve))
      expect(received).toMatch(/^HTTP\/1\.1 431 /)
    }
  })
})

describe('files', () => {
  const modesBelow = (directory: string): string[] =>
    readdirSync(directory, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const mode = statSync(path).mode & 0o777
      return `${entry.isDirectory() ? 'directory' : 'file'} ${mode.toString(8)}`
    })

  test('of the server can be read by their owner only, whatever umask it was started with', async () => {
    const base = scratchDir()
    const dataDir = join(base, 'deep', 'data')
    const mask = process.umask(0)
    const server = await started({
      UNDERSTUDY_DATA_DIR: dataDir,
      UNDERSTUDY_API_KEYS: '',
    }).finally(() => process.umask(mask))
    const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim()
    const put = { method: 'PUT', path: '/v1/images/g/1/01', body: await smallJpeg(1), key }
    expect((await server.call({ ...put, headers: { 'Content-Type': 'image/jpeg' } })).status).toBe(201)
    const cycle = bytesOf(cycleBody(0, { candidates: [candidate('g', 1)] }))
    expect((await server.call({ method: 'POST', path: '/v1/cycles', body: cycle, key })).status).toBe(200)
    await server.kill('SIGTERM')
    expect(new Set(modesBelow(base))).toEqual(new Set(['directory 700', 'file 600']))
  })

  test('and directories that other users can read are a warning at startup, with the command that fixes it', async () => {
    const base = scratchDir()
    const dataDir = join(base, 'open')
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o755)
    const keys = join(base, 'keys')
    writeFileSync(keys, 'key-of-the-file-0123\n')
    chmodSync(keys, 0o644)
    const server = await started({
      UNDERSTUDY_DATA_DIR: dataDir,
      UNDERSTUDY_API_KEYS: '',
      UNDERSTUDY_API_KEYS_FILE: keys,
    })
    await server.logged(`run: chmod o= ${dataDir}`)
    await server.logged(`run: chmod o= ${keys}`)
  })
})

test.runIf(process.platform === 'linux')('no process that the server starts inherits its keys', async () => {
  const server = await started()
  const children = childrenOf(server.pid!)
  expect(children.length).toBeGreaterThan(0)
  for (const { pid } of children) {
    expect(commandOf(pid)).not.toEqual([])
    expect(environmentOf(pid)).not.toContain(server.key)
  }
})

describe('the log', () => {
  // One word, in every place that a client can fill except a path.
  const secret = 'GEHEIMNIS'

  const calls: [string, (server: ServerProcess) => Promise<unknown>][] = [
    [
      'a title',
      (server) => server.postCycle(cycleBody(0, { candidates: [candidate('g', 1, { title: secret })] })),
    ],
    [
      'the same with another title',
      (server) =>
        server.postCycle(cycleBody(0, { candidates: [candidate('g', 1, { title: secret + secret })] })),
    ],
    [
      'a post that is scored',
      (server) => server.postCycle(cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] })),
    ],
    ['an unknown field', (server) => server.postCycle({ ...cycleBody(2), [secret]: secret })],
    ['a wrong value', (server) => server.postCycle({ ...cycleBody(2), cycle_time: secret })],
    ['a body that is not JSON', (server) => post(server, '/v1/cycles', `{"${secret}": ${secret}`)],
    [
      'a body that is not gzip',
      (server) => post(server, '/v1/cycles', secret, { 'Content-Encoding': 'gzip' }),
    ],
    [
      'a body in gzip that is not a cycle',
      (server) => post(server, '/v1/cycles', gzipSync(secret), { 'Content-Encoding': 'gzip' }),
    ],
    ['a body that is too large', (server) => post(server, '/v1/cycles', secret.repeat(2_000_000))],
    ['a media type', (server) => post(server, '/v1/cycles', '{}', { 'Content-Type': secret })],
    [
      'an outcome',
      (server) => post(server, '/v1/outcomes', JSON.stringify({ outcomes: [{ placement_id: secret }] })),
    ],
    [
      'weights',
      (server) =>
        server.call({
          method: 'PUT',
          path: '/v1/weights',
          body: JSON.stringify({ version: 'v', note: secret }),
        }),
    ],
    [
      'an image that is none',
      (server) =>
        server.call({
          method: 'PUT',
          path: '/v1/images/g/1/01',
          body: secret,
          headers: { 'Content-Type': 'image/jpeg' },
        }),
    ],
    [
      'an image that is cut',
      async (server) =>
        server.call({
          method: 'PUT',
          path: '/v1/images/g/1/01',
          body: Buffer.concat([(await smallJpeg(1)).subarray(0, 300), Buffer.from(secret)]),
          headers: { 'Content-Type': 'image/jpeg' },
        }),
    ],
    [
      'a hash',
      async (server) =>
        server.call({
          method: 'PUT',
          path: '/v1/images/g/1/01',
          body: await smallJpeg(1),
          headers: { 'Content-Type': 'image/jpeg', 'X-Content-SHA256': secret },
        }),
    ],
    ['a wrong key', (server) => server.call({ path: '/v1/weights', key: secret })],
    ['a key in another scheme', (server) => server.call({ path: '/v1/weights', key: `Bearer ${secret}` })],
    ['a key in the query', (server) => server.call({ path: `/v1/weights?key=${secret}` })],
    [
      'any other header',
      (server) =>
        server.call({ path: '/v1/weights', headers: { Cookie: secret, 'X-Forwarded-For': secret } }),
    ],
    [
      'a body that stops',
      (server) =>
        leave(
          server,
          `POST /v1/cycles HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.key}\r\nContent-Length: 99\r\n\r\n${secret}`,
        ),
    ],
    ['a request that is none', (server) => leave(server, `${secret} ${secret}\r\n\r\n`)],
  ]

  test('has neither keys nor titles nor other parts of a body, at its most detailed level', async () => {
    const server = await started({ UNDERSTUDY_LOG_LEVEL: 'trace' })
    for (const [what, make] of calls) {
      await make(server)
      expect(server.log, what).not.toContain(secret)
    }
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(server.log).not.toContain(secret)
    expect(server.log).not.toContain(server.key)
    // The requests are in the log.
    expect(server.log.match(/"method":/g)?.length).toBeGreaterThanOrEqual(calls.length - 1)
  })

  test.runIf(process.platform === 'linux')('that cannot be written does not stop the server', async () => {
    const port = await freePort()
    const full = openSync('/dev/full', 'w')
    const child = spawn(executable, ['serve', '--port', String(port), '--data-dir', scratchDir()], {
      // Writes to this device fail as on a full disk.
      stdio: ['ignore', full, 'ignore'],
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const health = () => fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => null)
    try {
      while ((await health())?.status !== 200) if (child.exitCode !== null) throw new Error('it has ended')
      for (let index = 0; index < 100; index++) expect((await health())?.status).toBe(200)
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    } finally {
      child.kill('SIGKILL')
      closeSync(full)
    }
  })

  test('has at most 200 characters of a path, escaped within its line', async () => {
    const server = await started()
    await server.call({ path: `/v1/${'a'.repeat(5000)}` })
    await server.call({ path: '/v1/%0A%7B%22level%22:60%7D"\\' })
    await server.kill('SIGTERM')
    expect(server.log).not.toContain('a'.repeat(201))
    for (const line of server.log.trim().split('\n'))
      expect(() => JSON.parse(line) as unknown, line).not.toThrow()
    expect(server.log).not.toContain('"level":60')
  })

  const post = (server: ServerProcess, path: string, body: string | Uint8Array, headers = {}) =>
    server.call({ method: 'POST', path, body, headers }).catch(() => null)

  /** Sends the text and disconnects when the server has had time to read it. */
  async function leave(server: ServerProcess, text: string): Promise<void> {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    socket.write(text)
    await server.call({ path: '/v1/health' })
    socket.destroy()
    await server.call({ path: '/v1/health' })
  }
})
