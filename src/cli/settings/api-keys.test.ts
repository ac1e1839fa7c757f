/**
 * API keys: files and their permissions.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { ensureGeneratedKey, fingerprintOf, readKeysFile } from './api-keys.js'
import { apiKeyPattern, apiKeyRule } from '../../settings/index.js'

const root = mkdtempSync(join(tmpdir(), 'understudy-keys-'))
afterAll(() => rmSync(root, { recursive: true }))

let dataDir: string
beforeEach(() => {
  dataDir = join(mkdtempSync(join(root, 'case-')), 'data')
})

test('only the owner can open the file of a generated key and its directory', () => {
  const { keys, file, created } = ensureGeneratedKey(dataDir, 'api-key')
  const [key] = keys
  expect(keys).toHaveLength(1)
  expect(created).toBe(true)
  expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(key).toMatch(apiKeyPattern)
  expect(readFileSync(file, 'utf8')).toBe(`${key}\n`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
})

test('a key has at most 256 characters', () => {
  expect('k'.repeat(256)).toMatch(apiKeyPattern)
  expect('k'.repeat(257)).not.toMatch(apiKeyPattern)
  expect(apiKeyRule).toContain('16 to 256 ')
})

test('a file has keys in lines and between commas, each once, and nothing around them', () => {
  const [one, two, three] = ['1', '2', '3'].map((digit) => digit.repeat(16))
  const file = join(mkdtempSync(join(root, 'keys-')), 'keys')
  writeFileSync(file, `${one}, ${two}\r\n\n${three},${one}\n`)
  expect(readKeysFile(file)).toEqual([one, two, three])
})

test('the second start uses the key of the first', () => {
  const { keys } = ensureGeneratedKey(dataDir, 'api-key')
  expect(ensureGeneratedKey(dataDir, 'api-key')).toMatchObject({ keys, created: false })
})

test.each([
  ['', 'contains no API key'],
  ['short\n', 'is not valid: it must be'],
])('a file of generated keys with %j is an error and is not replaced', (content, message) => {
  ensureGeneratedKey(dataDir, 'api-key')
  writeFileSync(join(dataDir, 'api-key'), content)
  expect(() => ensureGeneratedKey(dataDir, 'api-key')).toThrow(message)
  expect(readFileSync(join(dataDir, 'api-key'), 'utf8')).toBe(content)
})

test('keys added to the file of the generated key are accepted too', () => {
  const { keys, file } = ensureGeneratedKey(dataDir, 'api-key')
  appendFileSync(file, 'key-number-2-0123456789\n')
  expect(ensureGeneratedKey(dataDir, 'api-key').keys).toEqual([...keys, 'key-number-2-0123456789'])
})

test('a data directory that cannot be created is an error on one line', () => {
  writeFileSync(dataDir, 'a file')
  expect(() => ensureGeneratedKey(dataDir, 'api-key')).toThrow(/^the data directory .* is not a directory$/)
})

test('a key file that cannot be read is a usage error with the name that the caller gives', () => {
  expect(() => readKeysFile(join(root, 'none'), 'apiKeysFile (from --api-keys-file)')).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: expect.stringMatching(
        /^apiKeysFile \(from --api-keys-file\) cannot be read: ENOENT/,
      ) as string,
    }),
  )
})

test('the error for an invalid key in a file does not contain the key', () => {
  const file = join(root, 'bad-key')
  writeFileSync(file, 'a-valid-key-0123456789\na key with spaces')
  expect(() => readKeysFile(file)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('spaces') as string }),
  )
})

test('a fingerprint is short and depends only on the key', () => {
  expect(fingerprintOf('key-number-1-0123456789')).toMatch(/^[0-9a-f]{12}$/)
  expect(fingerprintOf('key-number-1-0123456789')).toBe(fingerprintOf('key-number-1-0123456789'))
  expect(fingerprintOf('key-number-1-0123456789')).not.toBe(fingerprintOf('key-number-2-0123456789'))
})
