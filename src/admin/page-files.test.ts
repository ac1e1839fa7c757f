/** The files of the page as routes: encodings, caching, and what is not served. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pageRoutes } from './page-files.js'
import { Router, type Reply } from './routes.js'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'understudy-page-'))
  mkdirSync(join(directory, 'assets'))
  writeFileSync(join(directory, 'index.html'), '<p>page</p>')
  writeFileSync(join(directory, 'secret.txt'), 'secret')
  for (const suffix of ['', '.br', '.gz'])
    writeFileSync(join(directory, `assets/a-1.js${suffix}`), `js${suffix}`)
  writeFileSync(join(directory, 'assets/a-1.js.map'), 'map')
})
afterEach(() => rmSync(directory, { recursive: true }))

function get(path: string, acceptEncoding = ''): Reply {
  const match = new Router(pageRoutes(directory) ?? []).find(path)
  if (match === null) throw new Error('not found')
  expect(match.route.access).toBe('token')
  const gone = new AbortController().signal
  const call = { parameters: match.parameters, query: new URLSearchParams(), acceptEncoding, gone }
  return match.route.handle(call) as Reply
}

test.each([
  ['gzip, br', 'br', 'js.br'],
  ['gzip', 'gzip', 'js.gz'],
  ['', undefined, 'js'],
  ['zstd', undefined, 'js'],
])('for %j a file is served as %s', (accepted, encoding, text) => {
  const { headers, body } = get('/assets/a-1.js', accepted)
  expect(headers['Content-Encoding']).toBe(encoding)
  expect(Buffer.from(body).toString()).toBe(text)
  expect(headers['Vary']).toBe('Accept-Encoding')
  expect(headers['Content-Type']).toBe('text/javascript; charset=utf-8')
})

test('names with a hash are kept forever; the document, which has none, is checked each time', () => {
  expect(get('/assets/a-1.js').headers['Cache-Control']).toContain('immutable')
  expect(get('/').headers['Cache-Control']).toBe('no-cache')
})

test.each([
  '/assets/a-2.js',
  '/assets/a-1.js.br',
  '/assets/a-1.js.map',
  '/assets/..%2Fsecret.txt',
  '/secret.txt',
])('%s is not served', (path) => {
  expect(() => get(path)).toThrow(/not found|unknown path/)
})

test('without a build of the page there are no routes', () => {
  rmSync(join(directory, 'index.html'))
  expect(pageRoutes(directory)).toBeNull()
})
