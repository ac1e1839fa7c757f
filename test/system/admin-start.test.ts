/** How the admin listener starts: its port, and a token of the environment. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { executable, freePort, ServerProcess } from '../harness/server.js'
import { ended, scratchDir, started } from '../helpers/servers.js'

describe('the port', () => {
  async function taken(port: number): Promise<Server> {
    const other = createServer()
    await new Promise<void>((resolve, reject) =>
      other.once('error', reject).listen(port, '127.0.0.1', resolve),
    )
    return other
  }

  test('that is in use prevents startup if it was configured, before anything is written', async () => {
    const other = await taken(0)
    const { port } = other.address() as AddressInfo
    const dataDir = join(scratchDir(), 'data')
    const args = ['serve', '--port', '0', '--data-dir', dataDir, '--admin-port', String(port)]
    const { status, stderr } = spawnSync(executable, args, { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `understudy: cannot listen on 127.0.0.1:${port}: the port is in use; choose another one with --admin-port\n`,
    })
    expect(existsSync(dataDir)).toBe(false)
    other.close()
  })

  test('whose default is in use causes one message, and the service starts without its admin listener', async () => {
    const other = await taken(8081).catch(() => null)
    const one = ended(new ServerProcess({ UNDERSTUDY_ADMIN_PORT: '' }))
    await one.start()
    expect(one.log).toContain(
      'understudy: no admin listener: cannot listen on 127.0.0.1:8081: the port is in use',
    )
    expect((await one.call({ path: '/v1/health' })).status).toBe(200)
    other?.close()
  })

  test('that is the port of the service prevents startup if it was configured', () => {
    const args = ['--port', '8181', '--admin-port', '8181', '--data-dir', join(scratchDir(), 'data')]
    const { status, stderr } = spawnSync(executable, ['serve', ...args], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'understudy: port and adminPort must differ; both are 8181\n',
    })
  })

  test('that is off opens nothing and makes no token', async () => {
    const one = await started()
    expect(one.log).not.toContain('admin')
    expect(existsSync(join(one.dataDir, 'admin-token'))).toBe(false)
  })
})

describe('the printed address', () => {
  /** What `serve` prints with standard error in a file and this value of JOURNAL_STREAM. */
  async function printed(journalStream: (file: string) => string): Promise<string> {
    const directory = scratchDir()
    const file = join(directory, 'stderr')
    const stderr = openSync(file, 'w')
    const args = ['serve', '--port', '0', '--admin-port', '0', '--data-dir', join(directory, 'data')]
    const env = { ...process.env, JOURNAL_STREAM: journalStream(file) }
    const child = spawn(executable, args, { env, stdio: ['ignore', 'ignore', stderr] })
    const address = (): string => /understudy: admin: (.*)/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
    await expect.poll(address).not.toBe('')
    child.kill()
    await once(child, 'exit')
    closeSync(stderr)
    return address()
  }

  test('omits the token if standard error is the journal', async () => {
    const journal = (file: string): string => `${statSync(file).dev}:${statSync(file).ino}`
    expect(await printed(journal)).toMatch(/\/ with the token in .*admin-token$/)
  })

  test('has the token if a process of a unit writes to a file', async () => {
    expect(await printed(() => '0:0')).toMatch(/\/\?token=[\w-]+$/)
  })
})

test('a token of the environment is used and printed nowhere; one that is an API key prevents startup', async () => {
  const port = await freePort()
  const secret = 'token-of-the-environment'
  const env = { UNDERSTUDY_ADMIN_PORT: String(port), UNDERSTUDY_ADMIN_TOKEN: secret }
  const one = await started(env)
  const headers = { authorization: `Bearer ${secret}` }
  expect((await fetch(`http://127.0.0.1:${port}/api/now`, { headers })).status).toBe(200)
  expect(one.log).not.toContain(secret)
  expect(existsSync(join(one.dataDir, 'admin-token'))).toBe(false)
  const same = ended(new ServerProcess({ UNDERSTUDY_ADMIN_PORT: '0', UNDERSTUDY_ADMIN_TOKEN: one.key }))
  await expect(same.start()).rejects.toThrow('the admin token must not be an API key')
})

test('a key file that contains the admin token is not reloaded, and the token stays no key', async () => {
  const keyFile = join(scratchDir(), 'keys')
  writeFileSync(keyFile, 'key-of-the-first-client\n')
  const adminPort = await freePort()
  const env = {
    UNDERSTUDY_API_KEYS: '',
    UNDERSTUDY_API_KEYS_FILE: keyFile,
    UNDERSTUDY_ADMIN_PORT: String(adminPort),
  }
  const one = await started(env)
  const token = one.adminToken
  writeFileSync(keyFile, `key-of-the-first-client\n${token}\n`)
  process.kill(one.pid ?? 0, 'SIGHUP')
  await one.logged('the admin token must not be an API key')
  expect(one.log).toContain('the settings were not reloaded')
  const status = async (key: string): Promise<number> => (await one.call({ path: '/v1/weights', key })).status
  expect(await status(token)).toBe(401)
  expect(await status('key-of-the-first-client')).toBe(200)
})
