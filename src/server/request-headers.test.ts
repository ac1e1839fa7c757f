/** Which lines of a request's head the server uses. */
import type { HttpRequest } from 'uWebSockets.js'
import { expect, test } from 'vitest'
import { readHeaders, type RequestHeaders } from './request-headers.js'

type Line = readonly [name: string, text: string]

function headersOf(...lines: readonly Line[]): RequestHeaders {
  const forEach: HttpRequest['forEach'] = (use) => {
    for (const [name, text] of lines) use(name, text)
  }
  return readHeaders({ forEach } as HttpRequest)
}

test('lines of one name are one value, and an empty line is one of them', () => {
  const { authorization } = headersOf(['authorization', ''], ['authorization', 'key'])
  expect(authorization).toBe(',key')
})

test('of length and connection the first line counts, as for uWebSockets.js', () => {
  const headers = headersOf(
    ['content-length', '5'],
    ['connection', 'close'],
    ['content-length', '7'],
    ['connection', 'keep-alive'],
  )
  expect(headers).toMatchObject({ contentLength: '5', closesConnection: true, requestsClose: true })
  expect(headersOf(['connection', 'keep-alive'], ['connection', 'close'])).toMatchObject({
    closesConnection: false,
    requestsClose: true,
  })
})

test.each<[string, Line[], boolean]>([
  ['one length', [['content-length', '5']], false],
  [
    'equal lengths',
    [
      ['content-length', '5'],
      ['content-length', '5'],
    ],
    true,
  ],
  ['chunked', [['transfer-encoding', 'Chunked']], false],
  ['an empty coding', [['transfer-encoding', '']], true],
  [
    'two codings',
    [
      ['transfer-encoding', 'gzip'],
      ['transfer-encoding', 'chunked'],
    ],
    true,
  ],
])('the end of a request with %s', (_, lines, isAmbiguous) => {
  expect(headersOf(...lines).hasAmbiguousEnd).toBe(isAmbiguous)
})

test('a header that is missing is empty, and the hash of an image is absent', () => {
  const { xTiming, transferEncoding, contentSha256 } = headersOf(['x-timing', '1'])
  expect([xTiming, transferEncoding, contentSha256]).toEqual(['1', '', undefined])
  expect(headersOf(['x-content-sha256', '']).contentSha256).toBe('')
})
