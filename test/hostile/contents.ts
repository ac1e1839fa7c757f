/**
 * Bodies, heads and paths that are expensive or ambiguous: gzip bombs, depth, huge numbers, floods of headers, tricks with
 * percent escapes and Unicode in a gallery id. Each names the allowed statuses.
 */
import { gzipSync } from 'node:zlib'
import { mebibyte } from '../../src/base/index.js'
import type { ApiCall } from '../harness/called-server.js'
import { cycleOf } from './bodies.js'
import { smallJpeg } from '../harness/jpeg.js'
import { head, isCompleteResponse, sendRaw, statuses } from '../harness/http.js'
import type { ServerProcess } from '../harness/server.js'

export interface HostileCall {
  readonly name: string
  readonly call: ApiCall
  readonly allowed: readonly number[]
}

const json = { 'Content-Type': 'application/json' }
const gzip = { ...json, 'Content-Encoding': 'gzip' }

function post(
  name: string,
  allowed: readonly number[],
  body: Uint8Array | string,
  headers = json,
  path = '/v1/cycles',
): HostileCall {
  return { name, allowed, call: { method: path === '/v1/weights' ? 'PUT' : 'POST', path, body, headers } }
}

/** As much of `text` as fits, with commas between. */
function repeated(text: string, bytes: number): string {
  return Array<string>(Math.floor(bytes / (text.length + 1)))
    .fill(text)
    .join(',')
}

/** A cycle whose rows are as long as those of a full one, and fail in every member. */
function wrongRows(count: number): string {
  const { candidates, engagement, ...rest } = cycleOf(0, 'wrong')
  const wrong = (row: object | undefined): object =>
    Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, { was: String(value) }]))
  const rows = (row: object | undefined): object[] =>
    Array<object>(count).fill({ ...wrong(row), more: 'x'.repeat(400) })
  return JSON.stringify({ ...rest, candidates: rows(candidates[0]), engagement: rows(engagement[0]) })
}

/** `heavy`: bodies of the maximum size; otherwise small ones of the same kinds. */
export function hostileBodies(heavy: boolean): HostileCall[] {
  const size = heavy ? 16 * mebibyte - 64 : mebibyte
  const half = size / 2
  const bomb = gzipSync(Buffer.alloc(heavy ? 1024 * mebibyte : 64 * mebibyte), { level: 9 })
  const layered = gzipSync(gzipSync(Buffer.alloc(64 * mebibyte), { level: 9 }), { level: 9 })
  const valid = JSON.stringify(cycleOf(0, 'huge', 123_454_321))
  const withNumber = (digits: string): string => valid.replace('123454321', digits)
  return [
    // 503: those that are decompressed at the same time may exceed the memory limit for bodies.
    post('a gzip bomb', [413], bomb, gzip),
    post('a bomb in a bomb', [400], layered, gzip),
    post('gzip that breaks off', [400, 413], bomb.subarray(0, bomb.length / 2), gzip),
    post(
      'gzip members without end',
      [400, 413],
      Buffer.concat(Array.from({ length: 2000 }, () => gzipSync(' '))),
      gzip,
    ),
    post('arrays in arrays', [400], '['.repeat(size)),
    post('arrays in arrays, closed', [400], '['.repeat(half) + ']'.repeat(half)),
    post('objects in objects', [400], '{"a":'.repeat(Math.floor(size / 5))),
    post('empty arrays', [400], `[${'[],'.repeat(Math.floor(size / 3) - 2)}[]]`),
    post('one long text', [400], `"${'a'.repeat(size)}"`),
    post('one long escape', [400], `"${'\\u0000'.repeat(Math.floor(size / 6))}"`),
    post('one name over and over', [400], `{${'"cycle_id":0,'.repeat(Math.floor(size / 13))}"a":0}`),
    post('only white space', [400], ' '.repeat(size)),
    post('zero bytes', [400], Buffer.alloc(size)),
    post('bytes that are no UTF-8', [400], Buffer.alloc(size, 0xfe)),
    post('a number past every float', [400, 422], withNumber('1e400')),
    post('a number of a megabyte of digits', [400, 422], withNumber('9'.repeat(mebibyte))),
    post('a fraction of a megabyte of digits', [400, 422], withNumber(`1.${'3'.repeat(mebibyte)}`)),
    post('an exponent of a megabyte', [400, 422], withNumber(`1e${'9'.repeat(mebibyte)}`)),
    post('minus zero with an exponent', [200, 400, 422], withNumber('-0e-99999')),
    post('an integer past 2^53', [200, 400, 422], withNumber('9007199254740993')),
    post('an integer past 2^64', [400, 422], withNumber('18446744073709551616')),
    post('rows with everything wrong', [400], wrongRows(heavy ? 5000 : 300)),
    post('invalid outcomes', [400], `{"outcomes":[${repeated('{"a":1}', size)}]}`, json, '/v1/outcomes'),
    post('numbers for outcomes', [400], `{"outcomes":[${repeated('1', size)}]}`, json, '/v1/outcomes'),
    post('weights in a long text', [400], `{"version":"${'\\n'.repeat(half)}"}`, json, '/v1/weights'),
  ]
}

/** Segments for a gallery's id in a path, raw, and the outcome of an image upload to it. */
export const galleryTricks: readonly (readonly [segment: string, allowed: readonly number[]])[] = [
  ['%00', [201]],
  ['%2e%2e', [201]],
  ['..%2f..%2fetc%2fpasswd', [201]],
  ['%2F', [201]],
  // The same gallery as its escape above, with another image.
  ['..', [409]],
  ['.', [201]],
  ['%5c..%5c', [201]],
  ['a%3Fb%23c', [201]],
  ['%F0%9F%98%80', [201]],
  ['%E2%80%AE%E2%80%8B', [201]],
  ['%EF%BB%BFa', [201]],
  // The same letter composed and decomposed: two galleries, since keys are bytes.
  ['%C3%A9', [201]],
  ['e%CC%81', [201]],
  ['%EA%B0%80', [201]],
  ['%E1%84%80%E1%85%A1', [201]],
  ['+', [201]],
  ['%20', [201]],
  ['__proto__', [201]],
  ['constructor', [201]],
  ['%', [400]],
  ['%zz', [400]],
  ['%u0041', [400]],
  ['%ff', [400]],
  ['%c0%af', [400]],
  ['%ed%a0%80', [400]],
  ['%f4%90%80%80', [400]],
  ['%e0%80%80', [400]],
  ['', [400]],
  ['a'.repeat(1024), [201]],
  ['%F0%9F%98%81'.repeat(1024), [201]],
  ['a'.repeat(1025), [400]],
  ['%61'.repeat(20_000), [400]],
]

/** Sends an image to every path. Returns the responses that are not allowed; a 409 means that two paths have one key. */
export async function galleryViolations(server: ServerProcess, round: number): Promise<string[]> {
  const violations: string[] = []
  for (const [number, [segment, allowed]] of galleryTricks.entries()) {
    const body = await smallJpeg(number)
    const reply = await server.call({
      method: 'PUT',
      path: `/v1/images/${segment}/${round}/01`,
      body,
      headers: { 'Content-Type': 'image/jpeg' },
    })
    // Each has an image of its own: if two segments are one gallery, the second is 409.
    if (!allowed.includes(reply.status)) violations.push(`gallery ${segment.slice(0, 40)}: ${reply.status}`)
  }
  const escapes = ['\\ud800', '\\udc00a', '\\u0000', '\\u202e', '\\uffff', '__proto__', '\\u0041']
  for (const [number, escape] of escapes.entries()) {
    const body = JSON.stringify(cycleOf(10 + number, 'GALLERY')).replaceAll('GALLERY', escape)
    const { status } = await server.call({ method: 'POST', path: '/v1/cycles', body, headers: json })
    const allowed = /^\\u(d800|dc00)/.test(escape) ? [400] : [200]
    if (!allowed.includes(status)) violations.push(`gallery ${escape} in JSON: ${status}`)
  }
  return violations
}

/** Sends heads that are too large. Returns those that were served or got no response. */
export async function headFloodViolations(server: ServerProcess): Promise<string[]> {
  const floods: readonly (readonly [name: string, head: string])[] = [
    [
      'ten thousand headers',
      head(server, 'GET /v1/weights', ...Array.from({ length: 10_000 }, (_, n) => `X-${n}: a`)),
    ],
    ['a header of a megabyte', head(server, 'GET /v1/weights', `X-Long: ${'a'.repeat(mebibyte)}`)],
    ['a path of a megabyte', head(server, `GET /v1/scores/${'a'.repeat(mebibyte)}`)],
    ['a method of a megabyte', head(server, `${'G'.repeat(mebibyte)} /v1/health`)],
    ['a head without end', `GET /v1/weights HTTP/1.1\r\n${'X: a\r\n'.repeat(200_000)}`],
    ['a name without end', `GET /v1/weights HTTP/1.1\r\n${'X'.repeat(mebibyte)}`],
  ]
  const violations: string[] = []
  for (const [name, head] of floods) {
    const received = await sendRaw(server, head, { done: isCompleteResponse })
    if (statuses(received).some((status) => status < 400 || status === 500))
      violations.push(`${name}: ${received.slice(0, 60)}`)
  }
  return violations
}

/** Sends calls in parallel. Returns those with a response that is not allowed. */
export async function callViolations(
  server: ServerProcess,
  calls: readonly HostileCall[],
): Promise<string[]> {
  const violations = await Promise.all(
    calls.map(async ({ name, call, allowed }) => {
      const reply = await server.call(call).catch((error: unknown) => String(error))
      if (typeof reply === 'string') return [`${name}: ${reply}`]
      const isWellFormed =
        reply.status < 400 || (reply.json as { error?: unknown } | undefined)?.error !== undefined
      // The limit for bodies in memory may be reached; then the response has Retry-After.
      const busy = reply.status === 503 && reply.headers['retry-after'] !== undefined
      return (allowed.includes(reply.status) || busy) && isWellFormed
        ? []
        : [`${name}: ${reply.status} ${reply.text.slice(0, 80)}`]
    }),
  )
  return violations.flat()
}
