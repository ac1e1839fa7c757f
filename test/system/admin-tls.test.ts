/** The admin listener under TLS, and `understudy status` there. */
import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { send } from '../harness/http.js'
import { executable, freePort, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'
import {
  authority,
  makeTlsChains,
  makeTlsFiles,
  opensslMissing,
  tlsHandshake,
  type TlsFiles,
} from '../helpers/tls-files.js'

describe.skipIf(opensslMissing)('under TLS', () => {
  let server: ServerProcess
  let port: number
  let live: TlsFiles
  let env: Record<string, string>

  beforeEach(async () => {
    const directory = scratchDir()
    const first = makeTlsFiles(directory, 'first')
    live = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
    use(first)
    port = await freePort()
    env = {
      UNDERSTUDY_TLS_CERT: live.cert,
      UNDERSTUDY_TLS_KEY: live.key,
      UNDERSTUDY_ADMIN_HOST: '0.0.0.0',
      UNDERSTUDY_ADMIN_PORT: String(port),
    }
    server = await started(env)
  })

  function use(files: TlsFiles): void {
    copyFileSync(files.cert, live.cert)
    copyFileSync(files.key, live.key)
  }

  function status(given: Record<string, string> = {}): Promise<{ status: unknown; text: string }> {
    const all = { ...process.env, UNDERSTUDY_DATA_DIR: server.dataDir, ...env, ...given }
    return new Promise((resolve) =>
      execFile(executable, ['status'], { env: all }, (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : error.code, text: stdout + stderr }),
      ),
    )
  }

  test('the cookie is host-only and Secure, and the printed URL uses https', async () => {
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

  test('plain HTTP and old versions of TLS get no response, and the listener continues', async () => {
    await expect(send({ port, path: '/livez' })).rejects.toThrow()
    await expect(tlsHandshake(port, { maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' })).rejects.toThrow()
    expect((await send({ port, ca: authority(live), path: '/livez' })).status).toBe(200)
  })

  test('SIGHUP renews the certificate', async () => {
    expect((await tlsHandshake(port)).name).toBe('first')
    use(makeTlsFiles(scratchDir(), 'second'))
    process.kill(server.pid ?? 0, 'SIGHUP')
    await server.logged('settings reloaded')
    expect((await tlsHandshake(port)).name).toBe('second')
  })

  test('status trusts the certificate of the settings and no other', async () => {
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

  test('status sends the token to no other certificate of the same authority', async () => {
    const { own, other } = makeTlsChains(scratchDir(), ['own', 'other'])
    use(own)
    process.kill(server.pid ?? 0, 'SIGHUP')
    await server.logged('settings reloaded')
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
