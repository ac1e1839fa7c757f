/**
 * SIGHUP: a running server reads its settings again. Real processes, signals and connections.
 */
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { cycleBoundaryMs } from '../../src/contract/index.js'
import { cycleBody, cycleMs } from '../helpers/bodies.js'
import { freePort, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'
import { expire, makeTlsFiles, opensslMissing, tlsHandshake } from '../helpers/tls-files.js'

/** Sends SIGHUP and resolves with the log lines up to the one with the result. */
async function hangUp(server: ServerProcess): Promise<string> {
  const before = server.log.length
  process.kill(server.pid ?? 0, 'SIGHUP')
  const fresh = (): string => server.log.slice(before)
  const result = /"msg":"(settings reloaded"[^]*\n|the settings were not reloaded)/
  while (!result.test(fresh())) await new Promise((resolve) => setImmediate(resolve))
  return fresh()
}

/** A server whose settings are in a file, and a function that changes them. */
async function startedOnFile(members: Record<string, unknown>) {
  const file = join(scratchDir(), 'settings.json')
  const write = (now: Record<string, unknown>): void =>
    writeFileSync(file, JSON.stringify(now), { mode: 0o600 })
  write(members)
  const server = await started({ UNDERSTUDY_CONFIG: file, UNDERSTUDY_API_KEYS: '' })
  return { server, file, write }
}

const statusOf = async (server: ServerProcess, key: string): Promise<number> =>
  (await server.call({ path: '/v1/weights', key })).status

test('the log line `listening` names the process for the signal', async () => {
  const server = await started()
  expect(server.log).toMatch(new RegExp(`"pid":${server.pid},.*"msg":"listening"`))
})

test('keys are replaced without a gap, and a removed key is no longer valid', async () => {
  const { server, write } = await startedOnFile({ apiKeys: ['old-key-0123456789'] })
  write({ apiKeys: ['old-key-0123456789', 'new-key-0123456789'] })
  expect(await hangUp(server)).toContain('"changed":["apiKeys"]')
  expect(await statusOf(server, 'old-key-0123456789')).toBe(200)
  expect(await statusOf(server, 'new-key-0123456789')).toBe(200)
  write({ apiKeys: ['new-key-0123456789'] })
  await hangUp(server)
  expect(await statusOf(server, 'old-key-0123456789')).toBe(401)
  expect(await statusOf(server, 'new-key-0123456789')).toBe(200)
  for (const secret of ['old-key', 'new-key']) expect(server.log).not.toContain(secret)
})

test('key files are read again: the configured one, and the one with the generated key', async () => {
  const file = join(scratchDir(), 'keys')
  writeFileSync(file, 'key-of-the-file-1\n', { mode: 0o600 })
  const configured = await started({ UNDERSTUDY_API_KEYS: '', UNDERSTUDY_API_KEYS_FILE: file })
  appendFileSync(file, 'key-of-the-file-2\n')
  await hangUp(configured)
  expect(await statusOf(configured, 'key-of-the-file-2')).toBe(200)

  const keeping = await started({ UNDERSTUDY_API_KEYS: '' })
  const kept = join(keeping.dataDir, 'api-key')
  const made = readFileSync(kept, 'utf8').trim()
  appendFileSync(kept, 'key-that-is-added\n')
  await hangUp(keeping)
  expect(await statusOf(keeping, made)).toBe(200)
  expect(await statusOf(keeping, 'key-that-is-added')).toBe(200)
})

test('limits and the log level change; changes that need a restart are named in one line', async () => {
  const apiKeys = ['one-key-0123456789']
  const { server, write } = await startedOnFile({ apiKeys, logLevel: 'info', clockSkewMs: 0 })
  const key = 'one-key-0123456789'
  // The next boundary: ahead of the clock, but by less than five minutes. The one after it if the clock passed it.
  const post = async (): Promise<number> => {
    const index = Math.floor((Date.now() - cycleMs(0)) / cycleBoundaryMs) + 1
    const body = JSON.stringify(cycleBody(index))
    const { status } = await server.call({ method: 'POST', path: '/v1/cycles', body, key })
    return Date.now() < cycleMs(index) ? status : post()
  }
  expect(await post()).toBe(422)
  write({
    apiKeys,
    logLevel: 'debug',
    clockSkewMs: 300_000,
    predictMsMax: 1000,
    intraOpThreads: 3,
    bodyReadMsMax: 5000,
  })
  const lines = await hangUp(server)
  expect(lines).toMatch(/"changed":\["clockSkewMs","bodyReadMsMax","logLevel"\]/)
  await server.logged(
    /"settings":\["intraOpThreads","predictMsMax"\],"msg":"changed settings need a restart"/,
  )
  expect(await post()).toBe(200)
  await server.logged('"level":20')
})

test('a key file that contains the admin token is not reloaded, and the token stays no key', async () => {
  const file = join(scratchDir(), 'keys')
  writeFileSync(file, 'key-of-the-first-client\n', { mode: 0o600 })
  const server = await started({
    UNDERSTUDY_API_KEYS: '',
    UNDERSTUDY_API_KEYS_FILE: file,
    UNDERSTUDY_ADMIN_PORT: String(await freePort()),
  })
  const token = server.adminToken
  appendFileSync(file, `${token}\n`)
  expect(await hangUp(server)).toContain('the settings were not reloaded')
  expect(server.log).toContain('the admin token must not be an API key')
  expect(await statusOf(server, token)).toBe(401)
  expect(await statusOf(server, 'key-of-the-first-client')).toBe(200)
})

test('settings with an error change nothing, and one log line names the reason', async () => {
  const { server, file, write } = await startedOnFile({ apiKeys: ['good-key-0123456789'] })
  const bad: [string, string][] = [
    [JSON.stringify({ apiKeys: ['other-key-0123456789'], clockSkewMs: 'much' }), 'clockSkewMs (from '],
    ['{"apiKeys": ["other-key-0123456789"', 'is not valid JSON'],
    [JSON.stringify({ apiKeys: ['other-key-0123456789'], keys: [] }), 'unknown setting'],
    [JSON.stringify({ apiKeys: ['short'] }), 'must be a JSON array of keys'],
  ]
  for (const [content, problem] of bad) {
    writeFileSync(file, content)
    const lines = await hangUp(server)
    const messages = lines.split('\n').filter((line) => line !== '' && !line.includes('"method":'))
    expect(messages).toHaveLength(1)
    expect(lines).toContain(problem)
    expect(await statusOf(server, 'good-key-0123456789')).toBe(200)
    expect(await statusOf(server, 'other-key-0123456789')).toBe(401)
  }
  expect(server.log).not.toContain('other-key')
  write({ apiKeys: ['other-key-0123456789'] })
  await hangUp(server)
  expect(await statusOf(server, 'other-key-0123456789')).toBe(200)
})

test('a signal during startup takes effect after startup', async () => {
  const { server, write } = await startedOnFile({ apiKeys: ['old-key-0123456789'] })
  await server.kill('SIGTERM')
  const starting = server.start()
  while (!server.log.includes('"msg"')) await new Promise((resolve) => setImmediate(resolve))
  write({ apiKeys: ['new-key-0123456789'] })
  process.kill(server.pid ?? 0, 'SIGHUP')
  await starting
  await server.logged('settings reloaded')
  expect(await statusOf(server, 'new-key-0123456789')).toBe(200)
})

describe.skipIf(opensslMissing)('a certificate', () => {
  async function startedWithTls() {
    const directory = scratchDir()
    const [first, second] = [makeTlsFiles(directory, 'first'), makeTlsFiles(directory, 'second')]
    const live = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
    const use = (files: { cert: string; key: string }): void => {
      copyFileSync(files.cert, live.cert)
      copyFileSync(files.key, live.key)
    }
    use(first)
    const server = await started({ UNDERSTUDY_TLS_CERT: live.cert, UNDERSTUDY_TLS_KEY: live.key })
    const nameOf = async (): Promise<string> => (await tlsHandshake(server.port)).name
    return { server, first, second, live, use, nameOf }
  }

  test('is renewed for new connections; an open one keeps the old certificate', async () => {
    const { server, second, use, nameOf } = await startedWithTls()
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    const names: unknown[] = []
    agent.on('keylog', (_line: unknown, socket: TLSSocket) =>
      socket.once('secureConnect', () => names.push(socket.getPeerCertificate().subject.CN)),
    )
    const status = () =>
      new Promise((resolve, reject) => {
        const headers = { Authorization: server.key }
        const options = { host: '127.0.0.1', port: server.port, path: '/v1/weights', agent, headers }
        const request = https.get(options, (response) => {
          response.resume().on('end', () => resolve([response.statusCode, request.reusedSocket]))
        })
        request.on('error', reject)
      })
    expect(await status()).toEqual([200, false])
    expect(await nameOf()).toBe('first')
    use(second)
    expect(await hangUp(server)).toMatch(/"certificate":"renewed","valid_to":"[^"]+Z"/)
    expect(await nameOf()).toBe('second')
    expect(await status()).toEqual([200, true])
    expect(new Set(names)).toEqual(new Set(['first']))
    agent.destroy()
  })

  test('is renewed repeatedly under a stream of new connections, and none of them fails', async () => {
    const { server, first, second, use } = await startedWithTls()
    const seen = new Map<string, number>()
    let done = false
    const client = async (): Promise<void> => {
      while (!done) {
        const { name } = await tlsHandshake(server.port)
        seen.set(name, (seen.get(name) ?? 0) + 1)
      }
    }
    const clients = Promise.all(Array.from({ length: 8 }, client))
    for (let round = 0; round < 20; round++) {
      use(round % 2 === 0 ? second : first)
      expect(await hangUp(server)).toContain('"certificate":"renewed"')
    }
    done = true
    await clients
    expect([...seen.keys()].sort()).toEqual(['first', 'second'])
  })

  test('that has expired is served from the start, with a warning, and does not replace a valid one', async () => {
    const { server, second, use, nameOf } = await startedWithTls()
    expect(server.log).toMatch(/"level":30,.*"valid_to":"[^"]+Z","msg":"certificate loaded"/)
    expire(second)
    use(second)
    expect(await hangUp(server)).toMatch(/"problem":"the certificate in [^"]+cert\.pem expired at [^"]+Z"/)
    expect(await nameOf()).toBe('first')
    await server.restart()
    expect(server.log).toMatch(/"level":40,.*"msg":"the certificate expired at /)
    expect(await nameOf()).toBe('second')
    // The expired certificate is already in use and does not stop other changes.
    expect(await hangUp(server)).toContain('settings reloaded')
  })

  test('that does not match its key, or is not a certificate, changes nothing', async () => {
    const { server, second, live, use, nameOf } = await startedWithTls()
    copyFileSync(second.cert, live.cert)
    expect(await hangUp(server)).toContain('"problem":"tlsCert (from UNDERSTUDY_TLS_CERT) and tlsKey')
    expect(await nameOf()).toBe('first')
    writeFileSync(live.cert, 'none')
    expect(await hangUp(server)).toContain('not reloaded')
    expect(await nameOf()).toBe('first')
    use(second)
    expect(await hangUp(server)).toContain('"certificate":"renewed"')
    expect(await nameOf()).toBe('second')
    // The same files are not a renewal.
    expect(await hangUp(server)).not.toContain('renewed')
  })
})
