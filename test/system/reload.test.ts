/**
 * SIGHUP: a running server reads its settings again. Real processes, real signals, connections that stay open meanwhile.
 */
import { appendFileSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { readSettings } from '../../src/cli/read-settings.js'
import { serverWordsOf, settingNames } from '../../src/cli/settings-table.js'
import { cycleBoundaryMs } from '../../src/contract/index.js'
import { changeOf } from '../../src/server/reload.js'
import { cycleBody, cycleMs } from '../helpers/bodies.js'
import type { ServerProcess } from '../helpers/server-process.js'
import { scratchDir, started } from '../helpers/servers.js'
import { expire, makeTlsFiles, opensslMissing, shakeHands } from '../helpers/tls-files.js'

/** Sends SIGHUP and resolves with the lines that the server writes up to the one that says what became of it. */
async function hangUp(server: ServerProcess): Promise<string> {
  const before = server.log.length
  process.kill(server.pid ?? 0, 'SIGHUP')
  const fresh = (): string => server.log.slice(before)
  const told = /"msg":"(the settings are read again"[^]*\n|the settings are not taken over)/
  while (!told.test(fresh())) await new Promise((resolve) => setImmediate(resolve))
  return fresh()
}

/** A server whose settings lie in a file, and a way to change them. */
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

test('the line `listening` names the process that takes the signal', async () => {
  const server = await started()
  expect(server.log).toMatch(new RegExp(`"pid":${server.pid},.*"msg":"listening"`))
})

test('keys are replaced without a gap, and the one that is taken out is good no more', async () => {
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

test('keys in files are read again: the one of the settings, and the one that the service made', async () => {
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

test('limits and the log level change; what needs a restart is named in one line and stays', async () => {
  const apiKeys = ['key-0123456789']
  const { server, write } = await startedOnFile({ apiKeys, logLevel: 'info', clockSkewMs: 0 })
  const key = 'key-0123456789'
  // The next boundary: ahead of the clock, but by less than five minutes. The one after it where the clock passed it.
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
    codec: 'reference',
    bodyReadMsMax: 5000,
  })
  const lines = await hangUp(server)
  expect(lines).toMatch(/"changed":\["clockSkewMs","bodyReadMsMax","logLevel"\]/)
  await server.logged('needs a restart')
  await server.logged(/"settings":\["predictMsMax","codec"\],"msg":"needs a restart"/)
  expect(await post()).toBe(200)
  await server.logged('"level":20')
})

test('what needs a restart says so where settings of a server are described, and nothing else does', () => {
  // With TLS, which other files neither turn on nor off.
  const files = { tlsCertFile: '/cert', tlsKeyFile: '/key' }
  const settings = { ...readSettings({ flags: {}, env: {}, directory: '/' }).settings, ...files }
  for (const name of settingNames) {
    const { left } = changeOf(settings, { ...settings, [name]: 'another' })
    expect(serverWordsOf(name).includes('needs a restart'), name).toBe(left.length > 0)
  }
})

test('settings that are bad in one place change nothing at all, and one line says why', async () => {
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
    const told = lines.split('\n').filter((line) => line !== '' && !line.includes('"msg":"request"'))
    expect(told).toHaveLength(1)
    expect(lines).toContain(problem)
    expect(await statusOf(server, 'good-key-0123456789')).toBe(200)
    expect(await statusOf(server, 'other-key-0123456789')).toBe(401)
  }
  expect(server.log).not.toContain('other-key')
  write({ apiKeys: ['other-key-0123456789'] })
  await hangUp(server)
  expect(await statusOf(server, 'other-key-0123456789')).toBe(200)
})

test('a signal during the start is made up for when the start is done', async () => {
  const { server, write } = await startedOnFile({ apiKeys: ['old-key-0123456789'] })
  await server.kill('SIGTERM')
  const starting = server.start()
  while (!server.log.includes('"msg"')) await new Promise((resolve) => setImmediate(resolve))
  write({ apiKeys: ['new-key-0123456789'] })
  process.kill(server.pid ?? 0, 'SIGHUP')
  await starting
  await server.logged('the settings are read again')
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
    const nameOf = async (): Promise<string> => (await shakeHands(server.port)).name
    return { server, first, second, live, use, nameOf }
  }

  test('is renewed for new connections; one that is open goes on with the old one', async () => {
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

  test('is renewed again and again under connections that come all the time, and none of them fails', async () => {
    const { server, first, second, use } = await startedWithTls()
    const seen = new Map<string, number>()
    let done = false
    const client = async (): Promise<void> => {
      while (!done) {
        const { name } = await shakeHands(server.port)
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

  test('that has expired serves from the start, with a warning, and does not take the place of a good one', async () => {
    const { server, second, use, nameOf } = await startedWithTls()
    expect(server.log).toMatch(/"level":30,.*"valid_to":"[^"]+Z","msg":"certificate"/)
    expire(second)
    use(second)
    expect(await hangUp(server)).toMatch(/"problem":"the certificate in [^"]+cert\.pem expired at [^"]+Z"/)
    expect(await nameOf()).toBe('first')
    await server.restart()
    expect(server.log).toMatch(/"level":40,.*"msg":"the certificate expired at /)
    expect(await nameOf()).toBe('second')
    // What serves already is no reason to refuse other changes.
    expect(await hangUp(server)).toContain('the settings are read again')
  })

  test('that does not belong to its key, or is none, changes nothing', async () => {
    const { server, second, live, use, nameOf } = await startedWithTls()
    copyFileSync(second.cert, live.cert)
    expect(await hangUp(server)).toContain('"problem":"tlsCert (from UNDERSTUDY_TLS_CERT) and tlsKey')
    expect(await nameOf()).toBe('first')
    writeFileSync(live.cert, 'none')
    expect(await hangUp(server)).toContain('not taken over')
    expect(await nameOf()).toBe('first')
    use(second)
    expect(await hangUp(server)).toContain('"certificate":"renewed"')
    expect(await nameOf()).toBe('second')
    // The same once more is no news.
    expect(await hangUp(server)).not.toContain('renewed')
  })
})
