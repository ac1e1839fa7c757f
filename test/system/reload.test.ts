/**
 * SIGHUP: a running server reads its settings again. Real processes, signals and connections.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cycleBoundaryMs } from '../../src/contract/index.js'
import { cycleBody, cycleMs } from '../helpers/bodies.js'
import { freePort, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

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
  expect(await server.reload()).toContain('"changed":["apiKeys"]')
  expect(await statusOf(server, 'old-key-0123456789')).toBe(200)
  expect(await statusOf(server, 'new-key-0123456789')).toBe(200)
  write({ apiKeys: ['new-key-0123456789'] })
  await server.reload()
  expect(await statusOf(server, 'old-key-0123456789')).toBe(401)
  expect(await statusOf(server, 'new-key-0123456789')).toBe(200)
  for (const secret of ['old-key', 'new-key']) expect(server.log).not.toContain(secret)
})

test('key files are read again: the configured one, and the one with the generated key', async () => {
  const file = join(scratchDir(), 'keys')
  writeFileSync(file, 'key-of-the-file-1\n', { mode: 0o600 })
  const configured = await started({ UNDERSTUDY_API_KEYS: '', UNDERSTUDY_API_KEYS_FILE: file })
  appendFileSync(file, 'key-of-the-file-2\n')
  await configured.reload()
  expect(await statusOf(configured, 'key-of-the-file-2')).toBe(200)

  const keeping = await started({ UNDERSTUDY_API_KEYS: '' })
  const kept = join(keeping.dataDir, 'api-key')
  const made = readFileSync(kept, 'utf8').trim()
  appendFileSync(kept, 'key-that-is-added\n')
  await keeping.reload()
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
  const lines = await server.reload()
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
  expect(await server.reload()).toContain('the settings were not reloaded')
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
    const lines = await server.reload()
    const messages = lines.split('\n').filter((line) => line !== '' && !line.includes('"method":'))
    expect(messages).toHaveLength(1)
    expect(lines).toContain(problem)
    expect(await statusOf(server, 'good-key-0123456789')).toBe(200)
    expect(await statusOf(server, 'other-key-0123456789')).toBe(401)
  }
  expect(server.log).not.toContain('other-key')
  write({ apiKeys: ['other-key-0123456789'] })
  await server.reload()
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
