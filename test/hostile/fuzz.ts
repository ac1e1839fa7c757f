/**
 * Requests that are almost valid: structure-aware mutations of every operation, by fast-check. Every response
 * has a status of the contract, and never 500. A failure is shrunk and prints its seed.
 */
import fc from 'fast-check'
import { gzipSync } from 'node:zlib'
import { cycleOf } from './bodies.js'
import { validImages } from './images.js'
import { head, isCompleteResponse, sendRaw, statuses } from '../harness/http.js'
import type { ServerProcess } from '../harness/server.js'

const allowed = new Set([200, 201, 400, 401, 404, 405, 409, 413, 414, 415, 422, 431, 501, 503, 505])

/** Requests that are sent concurrently. */
/** Time limit for the response to an incomplete request. */
const responseMsMax = 200
const batchMax = 24

/** A change of a JSON value at the place that `path` leads to. Each step is an index modulo the number of members. */
interface Mutation {
  readonly path: readonly number[]
  readonly kind: 'replace' | 'remove' | 'twice' | 'rename'
  readonly value: unknown
}

/** Texts that are inserted verbatim, because `JSON.stringify` produces none of them. */
const rawTexts = [
  '1e999',
  '-0',
  '1E+2',
  '00',
  '.5',
  '9007199254740993',
  '"\\ud800"',
  '"\\u0000"',
  'nul',
  '{',
  ']',
]
const rawMark = '@raw:'

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    0.5,
    2 ** 53,
    1e21,
    '',
    [],
    {},
    '2024-03-01T00:00:00Z',
    '+09:00',
  ),
  fc.constantFrom(...rawTexts).map((text) => rawMark + text),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
)

const mutation: fc.Arbitrary<Mutation> = fc.record({
  path: fc.array(fc.nat({ max: 30 }), { maxLength: 4 }),
  kind: fc.constantFrom('replace', 'remove', 'twice', 'rename'),
  value: oddValue,
})

function mutate(root: unknown, { path, kind, value }: Mutation): unknown {
  const copy: unknown = structuredClone(root)
  let parent: Record<string, unknown> | unknown[] | null = null
  let key = ''
  let at = copy
  for (const step of path) {
    if (typeof at !== 'object' || at === null) break
    const keys = Object.keys(at)
    if (keys.length === 0) break
    parent = at as Record<string, unknown>
    key = keys[step % keys.length] ?? ''
    at = (at as Record<string, unknown>)[key]
  }
  if (parent === null) return kind === 'replace' ? value : copy
  if (Array.isArray(parent)) {
    const index = Number(key)
    if (kind === 'replace') parent[index] = value
    else parent.splice(index, kind === 'remove' ? 1 : 0, ...(kind === 'remove' ? [] : [structuredClone(at)]))
  } else if (kind === 'replace') parent[key] = value
  else {
    if (kind !== 'twice') Reflect.deleteProperty(parent, key)
    if (kind !== 'remove') parent[kind === 'rename' ? String(value).slice(0, 20) : `${key} `] = at
  }
  return copy
}

function textOf(value: unknown): string {
  return ((JSON.stringify(value) as string | undefined) ?? '').replaceAll(
    /"@raw:((?:[^"\\]|\\.)*)"/g,
    (_, raw: string) => JSON.parse(`"${raw}"`) as string,
  )
}

const cycleText = fc
  .tuple(fc.nat({ max: 50 }), fc.array(mutation, { maxLength: 3 }))
  .map(([index, mutations]) => textOf(mutations.reduce<unknown>(mutate, cycleOf(index, 'fuzz'))))

const outcomes = {
  outcomes: [
    {
      placement_id: 'p1',
      gall_id: 'fuzz',
      post_no: 1,
      tier: 'main',
      placed_at: '2024-03-01T00:00:00Z',
      picked_by: { type: 'operator' },
      score_at_placement: 0.5,
      views_at_placement: 1,
      up_at_placement: 1,
      down_at_placement: 0,
      comment_at_placement: 0,
      readings: [],
      hidden_at: null,
      deleted_at: null,
      deleted_by: null,
    },
  ],
}
const weights = { version: 'fuzz', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 }, note: '' }
const textFrom = (value: unknown): fc.Arbitrary<string> =>
  fc.array(mutation, { maxLength: 3 }).map((mutations) => textOf(mutations.reduce(mutate, value)))

/** Changes of bytes: some are replaced, removed or inserted. */
const damage = fc.array(
  fc.record({ at: fc.nat(), length: fc.nat({ max: 64 }), bytes: fc.uint8Array({ maxLength: 8 }) }),
  { maxLength: 6 },
)

function damaged(
  source: Buffer,
  replacements: readonly { at: number; length: number; bytes: Uint8Array }[],
): Buffer {
  let bytes = source
  for (const { at, length, bytes: put } of replacements) {
    const start = at % (bytes.length + 1)
    bytes = Buffer.concat([
      bytes.subarray(0, start),
      put,
      bytes.subarray(Math.min(bytes.length, start + length)),
    ])
  }
  return bytes
}

const path = fc.oneof(
  fc.constantFrom('/v1/cycles', '/v1/outcomes', '/v1/weights', '/v1/health', '/v1/scores/20240301T0000', '/'),
  fc
    .tuple(
      fc.webSegment(),
      fc.constantFrom('1', '0', '01', '-1', '9007199254740993', 'x'),
      fc.constantFrom('01', '1', '00', '99'),
    )
    .map(([gallery, post, position]) => `/v1/images/${gallery}/${post}/${position}`),
  fc.webPath(),
)

const framing = fc.constantFrom('length', 'chunks', 'both', 'none', 'short', 'long')
const headers = fc.array(
  fc.constantFrom(
    'Content-Type: application/json',
    'Content-Type: image/jpeg',
    'Content-Type: text/plain; a="',
    'Content-Encoding: gzip',
    'Content-Encoding: br',
    'Accept-Encoding: gzip',
    'X-Content-SHA256: 00',
    'X-Timing: 1',
    'Expect: 100-continue',
    'Connection: close',
    'Connection: upgrade',
    'Upgrade: websocket',
    'Range: bytes=0-1',
    'Transfer-Encoding: gzip, chunked',
    'Authorization: another',
  ),
  { maxLength: 4 },
)

interface Attempt {
  readonly bytes: Buffer
  readonly line: string
}

function attempts(server: ServerProcess, jpegs: readonly Buffer[]): fc.Arbitrary<Attempt> {
  const operation = fc.oneof(
    {
      weight: 4,
      arbitrary: cycleText.map((body) => ['POST /v1/cycles', 'application/json', Buffer.from(body)] as const),
    },
    textFrom(outcomes).map((body) => ['POST /v1/outcomes', 'application/json', Buffer.from(body)] as const),
    textFrom(weights).map((body) => ['PUT /v1/weights', 'application/json', Buffer.from(body)] as const),
    fc
      .tuple(fc.constantFrom(...jpegs), damage, fc.nat({ max: 1000 }))
      .map(
        ([jpeg, replacements, post]) =>
          [`PUT /v1/images/fuzz/${post + 1}/01`, 'image/jpeg', damaged(jpeg, replacements)] as const,
      ),
    fc
      .tuple(
        fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'FOO'),
        path,
        cycleText,
      )
      .map(([method, where, body]) => [`${method} ${where}`, 'application/json', Buffer.from(body)] as const),
  )
  return fc
    .record({ operation, zip: fc.boolean(), framing, headers, replacements: fc.option(damage, { freq: 4 }) })
    .map(({ operation: [line, type, plain], zip, framing: kind, headers: extra, replacements }) => {
      const packed = zip && type === 'application/json' ? gzipSync(plain) : plain
      const body = replacements === null ? packed : damaged(packed, replacements)
      const lengths = {
        length: [`Content-Length: ${body.length}`],
        chunks: ['Transfer-Encoding: chunked'],
        both: [`Content-Length: ${body.length}`, 'Transfer-Encoding: chunked'],
        none: [],
        short: [`Content-Length: ${Math.max(0, body.length - 3)}`],
        long: [`Content-Length: ${body.length + 3}`],
      }[kind]
      const coding = packed === plain ? [] : ['Content-Encoding: gzip']
      const requestHead = head(server, line, `Content-Type: ${type}`, ...coding, ...lengths, ...extra)
      const isChunked = kind === 'chunks' || kind === 'both'
      const sent = isChunked
        ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
        : body
      return { line: `${line} (${kind})`, bytes: Buffer.concat([Buffer.from(requestHead, 'latin1'), sent]) }
    })
}

/** Sends requests up to a time or number of runs; throws, with seed and counterexample, at the first wrong response. */
export async function fuzzHttp(
  server: ServerProcess,
  limits: { seconds: number; runs: number; seed?: number },
): Promise<number> {
  let tried = 0
  const jpegs = await validImages()
  const batch = fc.array(attempts(server, jpegs), { minLength: 1, maxLength: batchMax, size: 'max' })
  const property = fc.asyncProperty(batch, async (requests) => {
    tried += requests.length
    await Promise.all(
      requests.map(async ({ bytes, line }) => {
        const received = await sendRaw(server, bytes, {
          done: isCompleteResponse,
          halfCloseMs: responseMsMax,
        })
        for (const status of statuses(received))
          if (status !== 100 && !allowed.has(status)) throw new Error(`${line} got ${status}`)
      }),
    )
    const { status } = await server.call({ path: '/v1/health' })
    if (status !== 200) throw new Error(`health responded ${status}`)
  })
  await fc.assert(property, {
    numRuns: limits.runs,
    interruptAfterTimeLimit: limits.seconds * 1000,
    markInterruptAsFailure: false,
    ...(limits.seed === undefined ? {} : { seed: limits.seed }),
  })
  return tried
}
