/** Routing, media types, image paths and response encoding: the parts that need no socket. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ServiceError } from '../contract/index.js'
import { parseImageKey } from './image-path.js'
import { gunzipBody } from './json-body.js'
import { checkImageHeaders, checkJsonHeaders, parseTraceParent } from './request-headers.js'
import { acceptsCoding, gzipResponse, shouldGzip } from './response-encoding.js'
import { findRoute } from './router.js'

const statusOf = (work: () => unknown): number => {
  try {
    work()
  } catch (error) {
    if (error instanceof ServiceError) return error.status
    throw error
  }
  return 200
}

describe('a route', () => {
  test('is found by method and exact path', () => {
    expect(findRoute('PUT', '/v1/images/%EA%B0%80/1/01')).toMatchObject({
      id: 'putImage',
      operation: { method: 'PUT', path: '/v1/images/{gall_id}/{post_no}/{NN}' },
      parameters: ['%EA%B0%80', '1', '01'],
    })
    for (const path of [
      '/v1',
      '/v1/health/',
      '/V1/health',
      '/v1/images/g/1',
      '/v1/images/g/1/01/',
      '/v1/scores/a/b',
    ]) {
      expect(findRoute('GET', path), path).toMatchObject({ kind: 'not_found' })
    }
  })

  test('of GET serves HEAD too', () => {
    expect(findRoute('HEAD', '/v1/health')).toMatchObject({ operation: { method: 'GET' } })
    expect(findRoute('HEAD', '/v1/cycles')).toMatchObject({ kind: 'method_not_allowed' })
  })

  test('with another method lists the allowed ones, with HEAD wherever GET is allowed', () => {
    for (const [path, allow] of [
      ['/v1/cycles', 'POST'],
      ['/v1/scores/x', 'GET, HEAD'],
      ['/v1/weights', 'GET, HEAD, PUT'],
      ['/v1/health', 'GET, HEAD'],
    ] as const) {
      expect(findRoute('DELETE', path)).toMatchObject({ kind: 'method_not_allowed', allow })
    }
    // `constructor`, which every object inherits, is not a method.
    expect(findRoute('constructor', '/v1/cycles')).toMatchObject({ kind: 'method_not_allowed' })
  })
})

test('a JSON route accepts JSON or no media type, plain or as gzip', () => {
  for (const type of [
    ...['', 'application/json', 'Application/JSON ; charset="utf-8"'],
    ...['application/json;', 'application/json; charset=utf-8 ; ;'],
  ]) {
    expect(checkJsonHeaders(type, ''), type).toBe(false)
    expect(checkJsonHeaders(type, ' GZIP '), type).toBe(true)
  }
  for (const type of [
    ...['text/json', 'application/jsonp', 'application/vnd.api+json', 'image/jpeg'],
    ...['application/json; version=1', 'application/json; charset=utf-8; version=1'],
  ]) {
    expect(
      statusOf(() => checkJsonHeaders(type, '')),
      type,
    ).toBe(415)
  }
  for (const encoding of ['deflate', 'br', 'gzip, gzip']) {
    expect(
      statusOf(() => checkJsonHeaders('', encoding)),
      encoding,
    ).toBe(415)
  }
})

test('an image needs the media type image/jpeg and no content encoding', () => {
  expect(statusOf(() => checkImageHeaders('IMAGE/JPEG', ''))).toBe(200)
  for (const type of ['', 'image/jpg', 'image/png'])
    expect(
      statusOf(() => checkImageHeaders(type, '')),
      type,
    ).toBe(415)
  for (const encoding of ['gzip', 'identity']) {
    expect(
      statusOf(() => checkImageHeaders('image/jpeg', encoding)),
      encoding,
    ).toBe(415)
  }
})

describe('the path of an image', () => {
  test('is decoded once, and its position is a number', () => {
    expect(parseImageKey(['a%252Fb%2F', '9007199254740991', '0012'], undefined)).toEqual({
      gallId: 'a%2Fb/',
      postNo: 9007199254740991,
      position: 12,
    })
  })

  test('is refused with a field for each malformed part', () => {
    const fields = (...segments: string[]): string[] => fieldsOf(segments)
    expect(fields('%FF', '0', '00')).toEqual(['gall_id', 'post_no', 'NN'])
    expect(fields('', '01', '1')).toEqual(['gall_id', 'post_no', 'NN'])
    expect(fields('', '', '')).toEqual(['gall_id', 'post_no', 'NN'])
    expect(findRoute('PUT', '/v1/images///')).toMatchObject({ parameters: ['', '', ''] })
    expect(fields('g', '9007199254740992', '01')).toEqual(['post_no'])
    expect(fields('g', '1', '%2001')).toEqual(['NN'])
    // Bytes that are not UTF-8 arrive as this character. Percent-encoded, it is a name like any other.
    expect(fields('\ufffd', '1', '01')).toEqual(['gall_id'])
    expect(fields('%EF%BF%BD', '1', '01')).toEqual([])
  })

  test('has a gallery id of at most 1,024 characters after decoding', () => {
    for (const character of ['a', '%EA%B0%80', '%F0%9F%98%80']) {
      expect(fieldsOf([character.repeat(1024), '1', '01'])).toEqual([])
      expect(fieldsOf([character.repeat(1025), '1', '01'])).toEqual(['gall_id'])
    }
    // Half of a surrogate pair, as some programs encode it.
    expect(fieldsOf(['%ED%A0%80', '1', '01'])).toEqual(['gall_id'])
  })

  test('is refused together with a malformed hash', () => {
    const hash = 'a1'.repeat(32)
    expect(fieldsOf(['g', '1', '01'], hash)).toEqual([])
    expect(fieldsOf(['g', '00', '01'], 'x')).toEqual(['post_no', 'X-Content-SHA256'])
    for (const malformed of ['', hash.toUpperCase(), hash.slice(1)])
      expect(fieldsOf(['g', '1', '01'], malformed), malformed).toEqual(['X-Content-SHA256'])
  })

  function fieldsOf(segments: readonly string[], claimedSha256?: string): string[] {
    try {
      parseImageKey(segments, claimedSha256)
      return []
    } catch (error) {
      return (error as ServiceError).fields?.map((field) => field.path) ?? []
    }
  }
})

describe('a response', () => {
  const response = { status: 200, headers: { A: 'b' }, body: Buffer.from('x'.repeat(5000)) }

  test('is compressed for clients that accept gzip, and for no others', async () => {
    // The name counts more than the star.
    for (const accepted of ['gzip', 'br, GZIP;q=0.5', '*', 'x-gzip', '*;q=0, gzip', 'gzip;q=0.1, *;q=0'])
      expect(acceptsCoding(accepted, 'gzip'), accepted).toBe(true)
    for (const refused of [
      '',
      'br',
      'gzip;q=0',
      '*;q=0',
      'identity, gzip; q=0.0',
      'gzip;q=0, *',
      '*, gzip;q=0',
    ]) {
      expect(acceptsCoding(refused, 'gzip'), refused).toBe(false)
    }
    expect([shouldGzip(response, 'gzip'), shouldGzip(response, 'br')]).toEqual([true, false])
    const zipped = await gzipResponse(response)
    expect(zipped.headers).toEqual({ A: 'b', 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' })
    expect(gunzipSync(zipped.body)).toEqual(response.body)
    // A stored response is one body for all its readers.
    expect((await gzipResponse(response)).body).toBe(zipped.body)
  })

  test('that is smaller than a packet is not compressed', () => {
    const isCompressed = (bytes: number) => shouldGzip({ ...response, body: Buffer.alloc(bytes) }, 'gzip')
    expect([1, 1399, 1400, 1401].map(isCompressed)).toEqual([false, false, true, true])
  })
})

test('after gzip only zeros may follow: any other byte, also a repeated one, is refused', async () => {
  const zipped = gzipSync('{}')
  const withRest = (...rest: readonly number[]) => gunzipBody(Buffer.concat([zipped, Buffer.from(rest)]))
  for (const padding of [[], [0], [0, 0, 0]]) expect(await withRest(...padding)).toEqual(Buffer.from('{}'))
  for (const rest of [[1], [1, 1], [7, 7, 7], [0, 1], [0, 0, 1], [1, 0]])
    await expect(withRest(...rest)).rejects.toThrow('not valid gzip')
})

test('a traceparent has its trace, its span and its flags, and more from the version after 00 on', () => {
  const trace = { traceId: '4b'.repeat(16), spanId: '00f067aa0ba902b7', flags: 1 }
  const parent = `${trace.traceId}-${trace.spanId}-01`
  for (const valid of [`00-${parent}`, `01-${parent}`, `01-${parent}-more`])
    expect(parseTraceParent(valid), valid).toEqual(trace)
  for (const invalid of ['', `00-${parent}-more`, `01-${parent}more`, `ff-${parent}`])
    expect(parseTraceParent(invalid), invalid).toBeNull()
})
