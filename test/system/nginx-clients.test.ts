/**
 * What users run behind the standard deployment: the typed client with the largest image and body, reloads of nginx and
 * restarts of the service in mid-cycle, and a browser on the operators' page. The clients in Python and JavaScript are in
 * client-programs.test.ts. Skipped, with one line, if nginx is not installed.
 */
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import https from 'node:https'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Client } from '../../src/client/index.js'
import { imageBytesMax, jsonBodyBytesMax, type CycleRequest } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { browserMissing, launch, leave, startedAdmin, visit, type Admin } from '../helpers/browser.js'
import { smallJpeg } from '../harness/jpeg.js'
import { nginxMissing, startAdminNginx, startNginx, type Nginx } from '../helpers/nginx.js'
import type { ServerProcess } from '../harness/server.js'
import { started } from '../helpers/servers.js'

if (nginxMissing) console.log('skipped: test/system/nginx-clients.test.ts needs nginx and openssl')

/** A JPEG with comments, which make it as large as wanted. */
function enlarged(jpeg: Buffer, byteCount: number): Buffer {
  const comments: Buffer[] = []
  for (let missing = byteCount - jpeg.length; missing > 0;) {
    // A rest of less than a marker and a length could not be filled.
    const length = missing <= 65_537 ? missing : missing < 65_541 ? missing - 4 : 65_537
    const comment = Buffer.alloc(length, 'c')
    comment.writeUInt16BE(0xfffe, 0)
    comment.writeUInt16BE(length - 2, 2)
    comments.push(comment)
    missing -= length
  }
  return Buffer.concat([jpeg.subarray(0, 2), ...comments, jpeg.subarray(2)])
}

describe.skipIf(nginxMissing)('behind deploy/nginx.conf', () => {
  const trusted = getCACertificates('default')
  let server: ServerProcess
  let nginx: Nginx
  let statuses: number[]
  let client: Client

  beforeEach(async () => {
    server = await started({ UNDERSTUDY_LOG_LEVEL: 'info' })
    nginx = await startNginx(server.port)
    setDefaultCACertificates([...trusted, readFileSync(nginx.certFile, 'utf8')])
    statuses = []
    client = new Client({
      url: `https://127.0.0.1:${nginx.port}`,
      apiKey: server.key,
      backoffMsFirst: 20,
      backoffMsMax: 200,
      onFailure: ({ outcome }) => void statuses.push(outcome instanceof Error ? 0 : outcome.status),
    })
  })
  afterEach(async () => {
    setDefaultCACertificates(trusted)
    await nginx.stop()
  })

  const cycle = (index: number, parts: Partial<CycleRequest> = {}): CycleRequest =>
    cycleBody(index, {
      candidates: [candidate('g', index + 1)],
      engagement: [reading('g', index + 1, cycleMs(index))],
      ...parts,
    })

  test('the typed client stores an image of 5 MiB, and a body of 16 MiB with and without gzip', async () => {
    const image = enlarged(await smallJpeg(1), imageBytesMax)
    expect(image.length).toBe(imageBytesMax)
    const key = { gall_id: '한/글', post_no: 1, position: 1 }
    expect([await client.putImage(key, image), await client.putImage(key, image)]).toMatchObject([
      { created: true },
      { created: false },
    ])
    for (const [index, gzip] of [false, true].entries()) {
      const sender = new Client({ url: `https://127.0.0.1:${nginx.port}`, apiKey: server.key, gzip })
      const body = { ...cycle(index), note: '' }
      body.note = 'x'.repeat(jsonBodyBytesMax - Buffer.byteLength(JSON.stringify(body)))
      expect(Buffer.byteLength(JSON.stringify(body))).toBe(jsonBodyBytesMax)
      const response = await sender.postCycle(body)
      expect(response.results.find(({ post_no }) => post_no === index + 1)).toMatchObject({
        status: 'scored',
      })
    }
    expect(statuses).toEqual([])
  })

  test('a cycle that is half sent when nginx is reloaded and the service restarts gets its response', async () => {
    const text = JSON.stringify(cycle(0))
    const agent = new https.Agent()
    const response = new Promise<number | undefined>((resolve, reject) => {
      const request = https.request(
        {
          host: '127.0.0.1',
          port: nginx.port,
          agent,
          method: 'POST',
          path: '/v1/cycles',
          headers: {
            Authorization: server.key,
            'Content-Length': Buffer.byteLength(text),
            Expect: '100-continue',
          },
        },
        (message) => {
          message.resume()
          resolve(message.statusCode)
        },
      )
      request.on('error', reject)
      // nginx reads the request from here on.
      request.on('continue', () => {
        request.write(text.slice(0, 100))
        const restarted = nginx.reload().then(async () => {
          expect(await server.kill('SIGTERM')).toBe(0)
          await server.start()
          request.end(text.slice(100))
        })
        restarted.catch(reject)
      })
      request.flushHeaders()
    })
    expect(await response).toBe(200)
    expect(await client.hasScores(cycle(0).cycle_id)).toBe(true)
    agent.destroy()
  })

  test('the typed client gets each response while nginx is reloaded and the service is restarted', async () => {
    const responses: unknown[] = []
    const sendTwo = async (): Promise<void> => {
      for (let count = 0; count < 2; count++) responses.push(await client.postCycle(cycle(responses.length)))
    }
    const restart = async (): Promise<void> => {
      expect(await server.kill('SIGTERM')).toBe(0)
      await server.start()
    }
    for (let round = 0; round < 4; round++) {
      await Promise.all([nginx.reload(), sendTwo()])
      await Promise.all([restart(), sendTwo()])
    }
    expect(responses).toHaveLength(16)
    // Refusals of nginx and of a service that is stopping, and nothing else.
    expect(statuses.filter((status) => ![0, 502, 503].includes(status))).toEqual([])
    for (const [index, response] of responses.entries())
      expect(await client.getScores(cycle(index).cycle_id)).toEqual(response)
  })
})

describe.skipIf(nginxMissing)('behind deploy/nginx-admin.conf', () => {
  const trusted = getCACertificates('default')
  let admin: Admin
  let nginx: Nginx
  let url: string

  beforeAll(async () => {
    admin = await startedAdmin()
    nginx = await startAdminNginx(Number(new URL(admin.url).port))
    url = `https://127.0.0.1:${nginx.port}`
    setDefaultCACertificates([...trusted, readFileSync(nginx.certFile, 'utf8')])
  })
  afterAll(async () => {
    setDefaultCACertificates(trusted)
    await nginx.stop()
    await admin.server.dispose()
  })

  test('the form gives its visitor a secure cookie, and refuses other sites', async () => {
    const logIn = (origin: string): Promise<Response> =>
      fetch(`${url}/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: { Origin: origin },
        body: new URLSearchParams({ token: admin.token }),
      })
    const own = await logIn(url)
    expect([own.status, own.headers.get('location')]).toEqual([303, '/'])
    const cookie = own.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/; secure$/i)
    const page = await fetch(`${url}/api/now`, { headers: { Cookie: cookie.split(';')[0] ?? '' } })
    expect(page.status).toBe(200)
    for (const origin of ['https://other.example.org', 'http://localhost', 'null'])
      expect((await logIn(origin)).status, origin).toBe(403)
  })

  test('passes an event on when it is sent', async () => {
    const response = await fetch(`${url}/api/events`, {
      headers: { Authorization: `Bearer ${admin.server.adminToken}` },
    })
    const events = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await events.read()).value).toContain('event: heartbeat')
    await admin.server.postCycle(cycleBody(0))
    let received = ''
    while (!received.includes('event: cycle')) received += (await events.read()).value ?? ''
    await events.cancel()
  })

  test.skipIf(browserMissing)(
    'a browser on the page shows each cycle when it arrives, also after a reload of nginx',
    async () => {
      const browser: Browser = await launch()
      try {
        const visitor = await visit(browser, { ...admin, url })
        const { page, problems } = visitor
        const lastCycle = page.getByRole('region', { name: 'Last cycle' })
        for (const index of [1, 2]) {
          const body = cycleBody(index, { candidates: [candidate('g', index)] })
          expect((await admin.server.postCycle(body)).status).toBe(200)
          await lastCycle.getByText(`03-01 00:${String(5 * index).padStart(2, '0')}`).waitFor()
          await nginx.reload()
        }
        expect(problems).toEqual([])
        await leave(visitor)
      } finally {
        await browser.close()
      }
    },
  )
})
