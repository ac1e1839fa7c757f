/** TLS of the service and of the admin listener, and the commands that call them: what is spoken, trusted and renewed. */
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { send } from '../harness/http.js'
import { executable, freePort } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'
import {
  authority,
  expire,
  makeTlsChains,
  makeTlsFiles,
  opensslMissing,
  tlsHandshake,
  type TlsFiles,
} from '../helpers/tls-files.js'

/** A server on certificate files that a test replaces. `env`: further settings. */
async function startedWithTls(env: Readonly<Record<string, string>> = {}) {
  const directory = scratchDir()
  const [first, second] = [makeTlsFiles(directory, 'first'), makeTlsFiles(directory, 'second')]
  const live = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const use = (files: TlsFiles): void => {
    copyFileSync(files.cert, live.cert)
    copyFileSync(files.key, live.key)
  }
  use(first)
  const settings = { UNDERSTUDY_TLS_CERT: live.cert, UNDERSTUDY_TLS_KEY: live.key, ...env }
  const server = await started(settings)
  const nameOf = async (port = server.port): Promise<string> => (await tlsHandshake(port)).name
  return { server, settings, first, second, live, use, nameOf }
}

async function startedWithAdmin() {
  const port = await freePort()
  const parts = await startedWithTls({
    UNDERSTUDY_ADMIN_HOST: '0.0.0.0',
    UNDERSTUDY_ADMIN_PORT: String(port),
  })
  return { ...parts, port }
}

/** Runs a command with these settings. */
function run(
  args: readonly string[],
  settings: NodeJS.ProcessEnv,
): Promise<{ status: unknown; text: string }> {
  const env = { ...process.env, ...settings }
  return new Promise((resolve) =>
    execFile(executable, args, { env }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : error.code, text: stdout + stderr }),
    ),
  )
}

const oldTls = { maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const

describe.skipIf(opensslMissing)('the service', () => {
  test('speaks TLS 1.2 or 1.3, with forward secrecy and authenticated encryption, and nothing else', async () => {
    const { server, live } = await startedWithTls()
    const { port } = server
    const headers = { Authorization: server.key }
    expect((await send({ port, path: '/v1/weights', ca: authority(live), headers })).status).toBe(200)
    await expect(server.call({ path: '/v1/health' })).rejects.toThrow()
    expect(await tlsHandshake(port)).toMatchObject({ name: 'first', protocol: 'TLSv1.3' })
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.2' } as const
    const with12 = (ciphers: string) => tlsHandshake(port, { ...old, ciphers: `${ciphers}:@SECLEVEL=0` })
    expect(await with12('ALL')).toMatchObject({ protocol: 'TLSv1.2', cipher: /^ECDHE-RSA-/ })
    for (const good of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'])
      expect((await with12(good)).cipher).toBe(good)
    for (const weak of [
      'AES128-SHA',
      'AES256-GCM-SHA384',
      'ECDHE-RSA-AES128-SHA',
      'DHE-RSA-AES128-GCM-SHA256',
    ])
      await expect(with12(weak), weak).rejects.toThrow()
    await expect(tlsHandshake(port, { minVersion: 'TLSv1', ...oldTls })).rejects.toThrow()
  })
})

describe.skipIf(opensslMissing)('a certificate', () => {
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
    expect(await server.reload()).toMatch(/"certificate":"renewed","valid_to":"[^"]+Z"/)
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
      expect(await server.reload()).toContain('"certificate":"renewed"')
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
    expect(await server.reload()).toMatch(/"problem":"the certificate in [^"]+cert\.pem expired at [^"]+Z"/)
    expect(await nameOf()).toBe('first')
    await server.restart()
    expect(server.log).toMatch(/"level":40,.*"msg":"the certificate expired at /)
    expect(await nameOf()).toBe('second')
    // The expired certificate is already in use and does not stop other changes.
    expect(await server.reload()).toContain('settings reloaded')
  })

  test('that does not match its key, or is not a certificate, changes nothing', async () => {
    const { server, second, live, use, nameOf } = await startedWithTls()
    copyFileSync(second.cert, live.cert)
    expect(await server.reload()).toContain('"problem":"tlsCert (from UNDERSTUDY_TLS_CERT) and tlsKey')
    expect(await nameOf()).toBe('first')
    writeFileSync(live.cert, 'none')
    expect(await server.reload()).toContain('not reloaded')
    expect(await nameOf()).toBe('first')
    use(second)
    expect(await server.reload()).toContain('"certificate":"renewed"')
    expect(await nameOf()).toBe('second')
    // The same files are not a renewal.
    expect(await server.reload()).not.toContain('renewed')
  })
})

describe.skipIf(opensslMissing)('the admin listener', () => {
  test('has a cookie that is host-only and Secure, and the printed URL uses https', async () => {
    const { server, live, port } = await startedWithAdmin()
    const token = server.adminToken
    expect(server.log).toContain(`understudy: admin: https://0.0.0.0:${port}/?token=${token}\n`)
    expect(server.log).not.toContain('unencrypted')
    const ca = authority(live)
    const login = await send({ port, ca, path: `/?token=${token}` })
    const [cookie = ''] = login.headers['set-cookie'] ?? []
    expect(login.status).toBe(303)
    expect(cookie).toMatch(
      /^__Host-understudy_admin_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
    const [pair = ''] = cookie.split(';')
    expect((await send({ port, ca, path: '/api/now', headers: { cookie: pair } })).status).toBe(200)
    const insecure = pair.replace('__Host-', '')
    expect((await send({ port, ca, path: '/api/now', headers: { cookie: insecure } })).status).toBe(401)
  })

  test('gives plain HTTP and old versions of TLS no response, continues, and renews its certificate', async () => {
    const { server, live, second, use, nameOf, port } = await startedWithAdmin()
    await expect(send({ port, path: '/livez' })).rejects.toThrow()
    await expect(tlsHandshake(port, oldTls)).rejects.toThrow()
    expect((await send({ port, ca: authority(live), path: '/livez' })).status).toBe(200)
    use(second)
    await server.reload()
    expect(await nameOf(port)).toBe('second')
  })

  test('is trusted by status for the certificate of the settings and no other', async () => {
    const { server, settings, port } = await startedWithAdmin()
    const status = (env: NodeJS.ProcessEnv = {}): Promise<{ status: unknown; text: string }> =>
      run(['status'], { ...settings, UNDERSTUDY_DATA_DIR: server.dataDir, ...env })
    expect(await status()).toMatchObject({
      status: 0,
      text: expect.stringContaining('pending posts') as string,
    })
    const other = makeTlsFiles(scratchDir(), 'other')
    expect(await status({ UNDERSTUDY_TLS_CERT: other.cert, UNDERSTUDY_TLS_KEY: other.key })).toEqual({
      status: 1,
      text: `understudy: https://127.0.0.1:${port} must present the certificate of ${other.cert}, valid now; after a renewal, send SIGHUP to the service: self-signed certificate\n`,
    })
  })

  test('is sent no token by status with another certificate of the same authority', async () => {
    const { server, settings, use } = await startedWithAdmin()
    const status = (env: NodeJS.ProcessEnv = {}): Promise<{ status: unknown; text: string }> =>
      run(['status'], { ...settings, UNDERSTUDY_DATA_DIR: server.dataDir, ...env })
    const { own, other } = makeTlsChains(scratchDir(), ['own', 'other'])
    use(own)
    await server.reload()
    expect(await status()).toMatchObject({ status: 0 })
    const received: string[] = []
    const impostor = https.createServer({ cert: readFileSync(other.cert), key: readFileSync(other.key) })
    impostor.on('request', ({ headers }, response) => {
      received.push(headers.authorization ?? '')
      response.end('{}')
    })
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve))
    try {
      const port = String((impostor.address() as AddressInfo).port)
      const { status: code, text } = await status({ UNDERSTUDY_ADMIN_PORT: port })
      expect(code).toBe(1)
      expect(text).toContain('must present the certificate of')
      expect(received).toEqual([])
    } finally {
      impostor.close()
    }
  })
})

test.skipIf(opensslMissing)(
  'simulate with an untrusted certificate prints how to trust it, and then connects',
  async () => {
    const { server, settings, live } = await startedWithTls()
    const simulate = (env: NodeJS.ProcessEnv): Promise<{ status: unknown; text: string }> =>
      run(['simulate', '--hours', '1'], {
        ...settings,
        UNDERSTUDY_PORT: String(server.port),
        UNDERSTUDY_API_KEYS: server.key,
        ...env,
      })
    const refused = await simulate({})
    expect(refused.status).toBe(1)
    expect(refused.text).toMatch(
      /^understudy: https:.*certificate.*; NODE_EXTRA_CA_CERTS=<cert\.pem> in the environment makes it trusted\n$/,
    )
    expect(await simulate({ NODE_EXTRA_CA_CERTS: live.cert })).toMatchObject({ status: 0 })
  },
)
