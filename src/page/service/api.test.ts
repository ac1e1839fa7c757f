/** What the page says when the admin listener refuses a request. */
import { afterEach, expect, test, vi } from 'vitest'
import { refusalText, type Refusal } from '../../contract/index.js'
import { setLanguage } from '../messages/index.js'
import { getJson } from './api.js'

afterEach(() => {
  vi.unstubAllGlobals()
  setLanguage('en')
})

/** The message of the error for a response with this error record. */
async function said(error: object): Promise<unknown> {
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ error }, { status: 404 })))
  return getJson('/api/now', new AbortController().signal).catch((error: unknown) => (error as Error).message)
}

test('a reason becomes the sentence of the reader, whatever the message; without one the message is quoted', async () => {
  const reason: Refusal = { code: 'out_of_range', name: 'limit', min: 1, max: 500 }
  const refused = { code: 'bad_request', message: 'another text', reason }
  const open = { code: 'server_error', message: 'too busy' }
  expect(await said(refused)).toBe(refusalText(reason))
  expect(refusalText(reason)).toBe('limit must be an integer from 1 to 500')
  expect(await said(open)).toBe('too busy')
  setLanguage('ko')
  expect(await said(refused)).toBe('limit 값은 1에서 500 사이의 정수여야 합니다')
  expect(await said(open)).toBe('too busy')
})
