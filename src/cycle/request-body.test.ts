/**
 * Request bodies as the store keeps them.
 */
import { hash, randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { jsonBodyBytesMax } from '../contract/index.js'
import { packRequest, RequestBody, unpackRequest } from './request-body.js'

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
