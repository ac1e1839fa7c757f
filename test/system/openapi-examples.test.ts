/**
 * The examples in docs/openapi.json, one for each status and kind of error: a server sends the same, apart from its clock.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bodyExamples, errorTable, jsonBodyBytesMax, type ErrorKind } from '../../src/contract/index.js'
import { errorExamples } from '../../src/contract/openapi/examples.js'
import type { ApiCall } from '../harness/called-server.js'
import type { Reply } from '../harness/http.js'
import { document } from '../helpers/openapi-responses.js'
import { projectDir } from '../helpers/project.js'
import { scratchDir, started } from '../helpers/servers.js'

interface Content {
  readonly content: { readonly 'application/json': { readonly example: unknown } }
}

const json = (value: unknown): Pick<ApiCall, 'body'> => ({ body: JSON.stringify(value) })
const { CycleRequest: cycle, OutcomesRequest, WeightsRequest } = bodyExamples
const post = { method: 'POST', path: '/v1/cycles' }
const jpeg = readFileSync(join(projectDir, 'models/example-1/golden/ball.jpg'))
const image = {
  method: 'PUT',
  path: '/v1/images/programming/48211/01',
  body: jpeg,
  headers: { 'Content-Type': 'image/jpeg' },
}

/** Compressed: a client that sends larger bytes may find the connection closed before it reads the response. */
const tooLarge = {
  body: gzipSync(Buffer.alloc(jsonBodyBytesMax + 1, ' ')),
  headers: { 'Content-Encoding': 'gzip' },
}

/** Five rows, of which one has these views: the example names `engagement[3].views`. */
function withViews(views: number): Pick<ApiCall, 'body'> {
  const [row] = cycle.engagement
  const rows = [0, 1, 2, 3, 4].map((index) => ({
    ...row,
    post_no: index + 1,
    views: index === 3 ? views : 1,
  }))
  return json({ ...cycle, engagement: rows })
}

/** The values that depend on the clock of the server, and only those. */
const clocks = new Set([
  'received_at',
  'scored_at',
  'time',
  'last_cycle_received_at',
  'set_at',
  'first_cycle_time',
])

function withoutClocks(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, member: unknown) => (clocks.has(name) ? 'a time' : member)))
}

const calls: readonly [operation: string, call: ApiCall, status: number][] = [
  ['post /v1/cycles', { ...post, ...json(cycle) }, 200],
  ['get /v1/scores/{cycle_id}', { path: `/v1/scores/${cycle.cycle_id}` }, 200],
  ['put /v1/images/{gall_id}/{post_no}/{NN}', image, 201],
  ['put /v1/images/{gall_id}/{post_no}/{NN}', image, 200],
  ['get /v1/health', { path: '/v1/health' }, 200],
  ['post /v1/outcomes', { method: 'POST', path: '/v1/outcomes', ...json(OutcomesRequest) }, 200],
  ['put /v1/weights', { method: 'PUT', path: '/v1/weights', ...json(WeightsRequest) }, 200],
  ['get /v1/weights', { path: '/v1/weights' }, 200],
]

function exampleOf(response: unknown): unknown {
  return (response as Content).content['application/json'].example
}

test('every success is what a server sends', async () => {
  const server = await started()
  for (const [operation, call, status] of calls) {
    const [method = '', path = ''] = operation.split(' ')
    const reply = await server.call(call)
    expect([operation, reply.status]).toEqual([operation, status])
    const example = exampleOf(document.paths[path]?.[method]?.responses[status])
    expect(withoutClocks(reply.json)).toEqual(withoutClocks(example))
  }
})

test('every error is what a server sends', async () => {
  const directory = scratchDir()
  const broken = join(directory, 'broken')
  const preload = join(directory, 'preload.mjs')
  // An error that no code of the service expects.
  writeFileSync(
    preload,
    `import { existsSync } from 'node:fs'
     const { stringify } = JSON
     JSON.stringify = (value, ...rest) => {
       if (value?.api_version === '1' && existsSync(${JSON.stringify(broken)})) throw new Error('planted')
       return stringify(value, ...rest)
     }`,
  )
  const server = await started({ NODE_OPTIONS: `--import ${preload}` })
  const withoutModel = await started({ UNDERSTUDY_MODELS_DIR: directory })
  await server.call({ ...post, ...withViews(900) })
  const future = { cycle_id: '29990302T1205', cycle_time: '2999-03-02T12:05:00+09:00' }
  const replies: Record<ErrorKind, Reply> = {
    bad_request: await server.call({ ...post, ...withViews(-1) }),
    unauthorized: await server.call({ path: '/v1/weights', key: null }),
    not_found: await withoutModel.call({ path: `/v1/scores/${cycle.cycle_id}` }),
    method_not_allowed: await server.call({ method: 'PUT', path: '/v1/cycles' }),
    conflict: await server.call({ ...post, ...withViews(901) }),
    too_large: await server.call({ ...post, ...tooLarge }),
    unsupported_media_type: await server.call({
      ...post,
      ...json(cycle),
      headers: { 'Content-Encoding': 'br' },
    }),
    unprocessable: await server.call({ ...post, ...json({ ...cycle, ...future }) }),
    unavailable: await withoutModel.call({ ...post, ...json(cycle) }),
    server_error: await (async () => {
      writeFileSync(broken, '')
      const reply = await server.call({ path: '/v1/health' })
      rmSync(broken)
      return reply
    })(),
  }
  for (const [kind, { status, json }] of Object.entries(replies) as [ErrorKind, Reply][]) {
    const { code, status: expected } = errorTable[kind]
    expect([kind, status, json]).toEqual([kind, expected, { error: { code, ...errorExamples[kind] } }])
  }
})
