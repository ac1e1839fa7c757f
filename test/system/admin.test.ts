/** The admin listener of a real server: access, contents, and that no request to it fails a cycle. */
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { beforeAll, afterAll, describe, expect, test } from 'vitest'
import {
  formatInstant,
  warningText,
  type CallRecord,
  type CycleResponse,
  type Warning,
} from '../../src/contract/index.js'
import { send as sendTo, type Reply } from '../harness/http.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { executable, freePort, ServerProcess } from '../harness/server.js'

const hostileTitle = '<script>alert(1)</script>\u001b[31m'

let server: ServerProcess
let adminPort: number
let token: string

beforeAll(async () => {
  adminPort = await freePort()
  server = await new ServerProcess({
    UNDERSTUDY_ADMIN_PORT: String(adminPort),
    UNDERSTUDY_LOG_LEVEL: 'debug',
  }).start()
  token = server.adminToken
  const posts = [1, 2, 3].map((n) =>
    candidate('g', n, {
      title: n === 1 ? hostileTitle : `title ${n}`,
      extracted_at: formatInstant(cycleMs(0) - 60_000),
    }),
  )
  const readings = (index: number, posts: readonly number[]) =>
    posts.map((n) => reading('g', n, cycleMs(index), { views: 100 * n + 10 * index }))
  const first = cycleBody(0, { candidates: posts, engagement: readings(0, [1, 2, 3]) })
  for (const body of [
    first,
    first,
    cycleBody(1, { engagement: readings(1, [1, 2, 3]) }),
    cycleBody(2, {
      engagement: readings(2, [1, 2]),
      removals: [removal('g', 3, { reason: 'saved', tier: 'app' })],
    }),
  ])
    expect((await server.postCycle(body)).status).toBe(200)
  expect((await server.postCycle({ cycle_id: '20240301T0020' })).status).toBe(400)
})
afterAll(() => server.dispose())

interface Call {
  readonly method?: string
  readonly headers?: http.OutgoingHttpHeaders
}

function send(path: string, call: Call = {}): Promise<Reply> {
  return sendTo({ port: adminPort, path, ...call })
}

const bearer = (): Call => ({ headers: { authorization: `Bearer ${token}` } })

async function api(path: string): Promise<Record<string, never>> {
  const reply = await send(`/api/${path}`, bearer())
  expect(reply.status, reply.text).toBe(200)
  return JSON.parse(reply.text) as Record<string, never>
}

describe('access', () => {
  const closed = [
    ...['/', '/api/now', '/api/series', '/api/picks', '/api/posts/g/1', '/api/posts/g/1/images/1'],
    ...[
      '/api/models',
      '/api/cycles',
      '/api/cycles/20240301T0000',
      '/api/cycles/20240301T0000/request',
      '/api/report',
    ],
    '/api/posts/g/1/history',
    ...['/api/cycles/20240301T0000/response', '/api/events', '/no/such/path'],
  ]

  test.each(['/livez', '/readyz', '/metrics', '/openapi.json', '/login.css'])('%s is open', async (path) => {
    expect((await send(path)).status).toBe(200)
  })

  test.each(closed)('%s needs the token', async (path) => {
    for (const authorization of [undefined, 'Bearer wrong', `Bearer ${server.key}`, server.key, token]) {
      const reply = await send(path, authorization === undefined ? {} : { headers: { authorization } })
      expect(reply.status).toBe(401)
      expect(reply.headers['www-authenticate']).toBe('Bearer')
    }
  })

  test('the token in the address becomes a cookie and leaves the address', async () => {
    const login = await send(`/?token=${token}`)
    expect(login.status).toBe(303)
    expect(login.headers.location).toBe('/')
    const [cookie = ''] = login.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^understudy_admin_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(cookie).not.toContain(token)
    const [pair = ''] = cookie.split(';')
    expect((await send('/api/now', { headers: { cookie: pair } })).status).toBe(200)
    expect((await send('/api/now', { headers: { cookie: `a=b; ${pair}; c=d` } })).status).toBe(200)
    expect((await send('/api/now', { headers: { cookie: `${pair}x` } })).status).toBe(401)
    expect((await send('/?token=wrong')).status).toBe(401)
    expect((await send(`/api/now?token=${token}`)).status).toBe(401)
  })

  test('the token is in no log line', () => {
    expect(server.log).toContain('"msg":"admin request"')
    const printed = server.log.split('\n').filter((line) => line.includes(token))
    expect(printed).toEqual([`understudy: admin: http://127.0.0.1:${adminPort}/?token=${token}`])
    expect(statSync(join(server.dataDir, 'admin-token')).mode & 0o777).toBe(0o600)
  })

  test.each(['evil.example', 'localhost.evil.example', `127.0.0.1.evil.example:1`, 'a b', '[::1'])(
    'the Host %j is refused, with and without the token',
    async (host) => {
      for (const headers of [{ host }, { host, ...bearer().headers }])
        for (const path of ['/livez', '/metrics', '/api/now', `/?token=${token}`])
          expect((await send(path, { headers })).status).toBe(421)
    },
  )

  test.each(['127.0.0.1', 'localhost:9', '[::1]:8081', 'LOCALHOST', '10.0.0.7:80'])(
    'the Host %s is accepted',
    async (host) => {
      expect((await send('/livez', { headers: { host } })).status).toBe(200)
    },
  )

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    '%s is refused: nothing can be changed',
    async (method) => {
      for (const path of ['/livez', '/openapi.json', '/api/now']) {
        const reply = await send(path, {
          method,
          headers: { ...bearer().headers, origin: 'https://evil.example' },
        })
        expect(reply.status).toBe(405)
        expect(reply.headers.allow).toBe('GET, HEAD')
        expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    },
  )

  test('every response forbids scripts from elsewhere, inline scripts and framing', async () => {
    for (const path of ['/livez', '/openapi.json', '/api/now', '/nothing']) {
      const { headers } = await send(path, bearer())
      const policy = String(headers['content-security-policy'])
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['cache-control']).toBe('no-store')
    }
  })

  test.each([
    ...[
      '/%',
      '/api/posts/%ff/1',
      '/api/posts/g/x',
      '/api/posts/g/99999999999999999999',
      '//',
      '/../etc/passwd',
    ],
    ...[
      '/api/cycles/..%2f..%2fetc/request',
      `/${'a'.repeat(10_000)}`,
      '/api/posts/g/4',
      'http://evil.example/api/now',
    ],
  ])('the path %.40s is 404', async (path) => {
    expect((await send(path, bearer())).status).toBe(404)
  })

  test.each(['limit=0', 'limit=501', 'limit=x', 'offset=-1', 'limit=1e2'])(
    'picks?%s is 400',
    async (query) => {
      expect((await send(`/api/picks?${query}`, bearer())).status).toBe(400)
    },
  )
})

describe('data', () => {
  test('readiness lists each check with its reason', async () => {
    const { status, checks } = JSON.parse((await send('/readyz')).text) as Record<
      string,
      { check: string; status: string }[]
    >
    expect(status).toBe('ready')
    expect(checks?.map((check) => [check.check, check.status])).toEqual([
      ['service', 'ok'],
      ['model', 'ok'],
      ['storage', 'ok'],
      ['last_cycle', 'ok'],
      ['disk', expect.stringMatching(/ok|warn/)],
    ])
  })

  test('now has the last cycle, the first scores and the serving model', async () => {
    expect(await api('now')).toMatchObject({
      status: 'ok',
      pending: 2,
      last_cycle_id: '20240301T0010',
      model: { version: 'transport-test-1', kind: 'transport-test' },
      last_cycle: { counts: { scored_now: 2 }, first_scores: { on_time: 0 } },
      first_scores: { on_time: 3, late: 0, never: 0, overdue: 0, share: 1, target: 0.99 },
    })
    expect((await api('series'))['points']).toHaveLength(3)
  })

  test('picks are ranked, filtered and searched; titles stay text', async () => {
    const { picks, saves, pending } = (await api('picks')) as unknown as {
      pending: number
      picks: { title: string; score: number; sparkline: number[]; post_no: number }[]
      saves: object[]
    }
    expect(pending).toBe(2)
    expect(picks.map(({ score }) => score)).toEqual(picks.map(({ score }) => score).sort((a, b) => b - a))
    expect(picks.find(({ post_no }) => post_no === 1)?.title).toBe(hostileTitle)
    expect(picks[0]?.sparkline).toHaveLength(3)
    expect(saves).toMatchObject([{ gall_id: 'g', post_no: 3, tier: 'app', of: 3 }])
    expect(await api('picks?q=TITLE%202')).toMatchObject({ matching: 1, picks: [{ post_no: 2 }] })
    expect(await api('picks?gallery=other')).toMatchObject({ matching: 0, picks: [] })
    expect(await api('picks?limit=1&offset=1')).toMatchObject({ matching: 2, picks: [{}] })
  })

  test('a post has its record and a timeline', async () => {
    const post = await api('posts/g/1')
    expect(post).toMatchObject({ candidate: { title: hostileTitle }, counters: { views: 120 } })
    expect(post['timeline']).toMatchObject(
      [0, 1, 2].map((index) => ({ counters: { views: 100 + 10 * index } })),
    )
  })

  test('the flight recorder shows scored, repeated and refused calls, with the first problem', async () => {
    const { items: calls } = (await api('cycles')) as unknown as {
      items: CallRecord[]
    }
    expect(calls.map(({ result }) => result)).toEqual(['refused', 'scored', 'scored', 'repeated', 'scored'])
    expect(calls[0]?.problem).toMatchObject({
      reason: { code: 'invalid_cycle', unlisted: 0 },
      field: { path: expect.stringMatching(/cycle_time|candidates/) as string },
    })
    expect((await api('cycles?list=stored&limit=2'))['items']).toHaveLength(2)
    expect((await send('/api/cycles?list=none', bearer())).status).toBe(400)
  })

  test('a stored cycle has the head of its response, and its results by reason', async () => {
    const { results, ...head } = JSON.parse(
      (await send('/api/cycles/20240301T0000/response', bearer())).text,
    ) as CycleResponse
    const { reasons, warnings, ...others } = await api('cycles/20240301T0000')
    expect({ ...others, warnings: (warnings as unknown as Warning[]).map(warningText) }).toEqual(head)
    expect(warnings).toContainEqual(expect.objectContaining({ code: 'transport_test' }))
    const unscored = ['missing_title', 'missing_clock', 'post_unavailable', 'unknown_post']
    expect(reasons).toEqual(
      unscored.map((reason) => ({ reason, count: results.filter((row) => row.reason === reason).length })),
    )
    expect((await send('/api/cycles/20240302T0000', bearer())).status).toBe(404)
  })

  test('request and response of a cycle can be downloaded', async () => {
    const request = await send('/api/cycles/20240301T0000/request', bearer())
    expect(JSON.parse(request.text)).toMatchObject({ cycle_id: '20240301T0000' })
    expect(request.headers['content-disposition']).toContain('attachment')
    const response = await send('/api/cycles/20240301T0000/response', bearer())
    const stored = await server.call({ path: '/v1/scores/20240301T0000' })
    expect(response.text).toBe(stored.text)
    expect((await send('/api/cycles/20240302T0000/request', bearer())).status).toBe(404)
  })

  test('models have state, provenance and the commands that change them', async () => {
    const { models } = (await api('models')) as unknown as { models: { version: string }[] }
    expect(models.find((model) => model.version === 'transport-test-1')).toMatchObject({
      uses: [{ state: 'serving' }],
      failure: null,
      provenance: {},
      commands: {
        activate: expect.stringMatching(
          /^understudy models activate transport-test-1 --models-dir \//,
        ) as string,
      },
    })
  })

  test('the metrics pass promtool and count what happened', async ({ skip }) => {
    await server.call({ path: '/v1/nothing' })
    const { text, headers } = await send('/metrics')
    expect(headers['content-type']).toContain('text/plain')
    expect(text).toContain('understudy_cycles_total{result="scored"} 3')
    expect(text).toContain('understudy_cycles_total{result="repeated"} 1')
    expect(text).toContain('understudy_http_requests_total{operation="POST /v1/cycles",status="400"} 1')
    expect(text).toContain('understudy_first_scores_total{result="on_time"} 3')
    expect(text).toContain('understudy_cycle_stage_duration_seconds_count{stage="commit"} 3')
    // A write that is not a cycle is counted too.
    const commits = (metrics: string): number =>
      Number(/^understudy_storage_commit_duration_seconds_count\{result="done"\} (\d+)$/m.exec(metrics)?.[1])
    const weights = { version: 'of-the-test', weights: { views: 1, comments: 0, up: 0, downvote_share: 0 } }
    const put = await server.call({ method: 'PUT', path: '/v1/weights', body: JSON.stringify(weights) })
    expect(put.status, put.text).toBe(200)
    await expect.poll(async () => commits((await send('/metrics')).text)).toBeGreaterThan(commits(text))
    expect(text).toContain('understudy_http_requests_total{operation="PUT /v1/weights",status="500"} 0')
    if (spawnSync('promtool', ['--version']).status !== 0) skip('promtool is not installed')
    const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })

  test('understudy status shows one screen, and JSON', () => {
    const env = {
      ...process.env,
      UNDERSTUDY_DATA_DIR: server.dataDir,
      UNDERSTUDY_ADMIN_PORT: String(adminPort),
    }
    const run = (...args: string[]) => spawnSync(executable, ['status', ...args], { env, encoding: 'utf8' })
    const shown = run()
    expect(shown).toMatchObject({ status: 0, stderr: '' })
    expect(shown.stdout).toMatch(/pending posts +2\n/)
    expect(shown.stdout).toContain('20240301T0010')
    expect(JSON.parse(run('--json').stdout)).toMatchObject({ pending: 2 })
    expect(run('--url', 'http://127.0.0.1:1')).toMatchObject({ status: 1, stdout: '' })
    expect(run('--data-dir', '/nowhere').stderr).toContain('no admin token')
  })
})

test('an event stream has an event for each cycle', async () => {
  const events = await new Promise<string>((resolve, reject) => {
    const options = { host: '127.0.0.1', port: adminPort, path: '/api/events', ...bearer() }
    const request = http.get(options, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (!text.includes('event: call')) return
        resolve(text)
        request.destroy()
      })
      void server.postCycle(cycleBody(50)).catch(reject)
    })
    request.on('error', () => undefined)
  })
  expect(events).toContain('retry: 2000\n\nevent: heartbeat\n')
  expect(events).toMatch(/event: cycle\ndata: \{"cycle_id":"20240301T0410"/)
})

test('a valid traceparent is logged, an invalid one is ignored', async () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  await server.call({ path: '/v1/weights', headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } })
  await server.logged(`"trace_id":"${traceId}"`)
  const invalid = traceId.replace('4bf', '0ab')
  for (const value of [
    `ff-${invalid}-00f067aa0ba902b7-01`,
    `00-${invalid}-0000000000000000-01`,
    `00-${invalid}`,
  ])
    await server.call({ path: '/v1/weights', headers: { traceparent: value } })
  await server.call({ path: '/v1/nothing-more' })
  await server.logged('nothing-more')
  expect(server.log).not.toContain(invalid)
})
