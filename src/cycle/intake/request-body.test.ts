/**
 * Request bodies: as the store keeps them, and the cycle ids that are read without decoding them.
 */
import { hash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { jsonBodyBytesMax } from '../../contract/index.js'
import { packRequest, peekCycleId, RequestBody, unpackRequest } from './request-body.js'

const rows = (bytes: number): Buffer => {
  let text = ''
  for (let post = 1_000_000; text.length < bytes; post++)
    text += `{"gall_id":"programming","post_no":${post},"views":${post % 997},"up":${post % 89}},`
  return Buffer.from(text)
}

test('a stored body is the body that arrived: a short one, a full cycle, and the longest, which does not shrink', async () => {
  const bodies = [Buffer.from('{}'), rows(6_000_000), randomBytes(jsonBodyBytesMax)]
  const stored = await Promise.all(bodies.map((json) => packRequest(new RequestBody(json))))
  expect(stored.map(({ encoding }) => encoding)).toEqual(['zstd', 'zstd', 'zstd'])
  expect(stored[1]?.bytes.length).toBeLessThan(1_500_000)
  const unpacked = await Promise.all(stored.map(unpackRequest))
  expect(unpacked.map((body, i) => Buffer.compare(body, bodies[i]!))).toEqual([0, 0, 0])
})

test('a body that arrives as gzip is stored in that gzip', async () => {
  const json = rows(10_000)
  const gzip = gzipSync(json)
  const request = await packRequest(new RequestBody(json, gzip))
  const sha256 = hash('sha256', gzip)
  expect(request).toEqual({ encoding: 'gzip', bytes: gzip, bodyBytes: json.length, sha256 })
  expect(Buffer.compare(await unpackRequest(request), json)).toBe(0)
})

const peek = (json: string): string | null => peekCycleId(Buffer.from(json))

test('an id is found wherever it is, with any white space, and from the first bytes alone', () => {
  const id = '20250303T0900'
  expect(peek(`{"cycle_id":"${id}","cycle_time":`)).toBe(id)
  expect(peek(` {\n  "cycle_id" : "${id}"\n}`)).toBe(id)
  expect(peek(`{"cycle_time":"x","cycle_id":"${id}","removals":[]}`)).toBe(id)
  expect(peek(`{"candidates":[${'{},'.repeat(100_000)}{}],"cycle_id":"${id}","removals":[]}`)).toBe(id)
  expect(peek(`{"removals":[]${' '.repeat(1000)},"cycle_id": "${id}"}\n`)).toBe(id)
})

test('a view of other bytes has only its own id', () => {
  const bytes = Buffer.from('{"cycle_id":"20250303T0900"}')
  expect(peekCycleId(bytes.subarray(2))).toBeNull()
  expect(peekCycleId(bytes.subarray(0, 20))).toBeNull()
  expect(peekCycleId(bytes.subarray(1))).toBe('20250303T0900')
})

test('no id is found in other bodies', () => {
  for (const json of [
    '',
    '{',
    '{"cycle_id":"20250303T090',
    '{"cycle_id":"2025"}',
    '{"cycle_id":7}',
    '["cycle_id"]',
    String.raw`{"title":"\"cycle_id\":\"20250303T0900\""}`,
  ])
    expect(peek(json)).toBeNull()
})
