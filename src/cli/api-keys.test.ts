/**
 * Keys of clients: files with their modes, in directories of their own.
 */
import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { keyCharsMax } from '../server/index.js'
import { ensureKeptKey, fingerprintOf, keptKeyFile, readKeysFile } from './api-keys.js'
import { apiKeyForm, apiKeyRule } from './settings-table.js'

const root = mkdtempSync(join(tmpdir(), 'understudy-keys-'))
afterAll(() => rmSync(root, { recursive: true }))

let dataDir: string
beforeEach(() => {
  dataDir = join(mkdtempSync(join(root, 'case-')), 'data')
})

test('a kept key lies in a file and a directory that only their owner can open', () => {
  const { keys, file, made, warnings } = ensureKeptKey(dataDir)
  const [key] = keys
  expect(keys).toHaveLength(1)
  expect(made).toBe(true)
  expect(warnings).toEqual([])
  expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(key).toMatch(apiKeyForm)
  expect(readFileSync(file, 'utf8')).toBe(`${key}\n`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
})

test('a key may be as long as the server compares, and no longer', () => {
  expect('k'.repeat(keyCharsMax)).toMatch(apiKeyForm)
  expect('k'.repeat(keyCharsMax + 1)).not.toMatch(apiKeyForm)
  expect(apiKeyRule).toContain(`16 to ${keyCharsMax} `)
})

test('the second start uses the key of the first', () => {
  const { keys } = ensureKeptKey(dataDir)
  expect(ensureKeptKey(dataDir)).toMatchObject({ keys, made: false })
})

test('a kept key that others can read earns a warning and is used', () => {
  const { keys, file } = ensureKeptKey(dataDir)
  chmodSync(file, 0o640)
  expect(ensureKeptKey(dataDir)).toMatchObject({
    keys,
    warnings: [expect.stringContaining(`chmod 600 ${file}`)],
  })
})

test.each([
  ['', 'holds no API key'],
  ['short\n', 'breaks the rule'],
])('a kept key file with %j stops the start instead of getting another key', (content, message) => {
  ensureKeptKey(dataDir)
  writeFileSync(keptKeyFile(dataDir), content)
  expect(() => ensureKeptKey(dataDir)).toThrow(message)
  expect(readFileSync(keptKeyFile(dataDir), 'utf8')).toBe(content)
})

test('a key that is added to the kept one is good beside it', () => {
  const { keys, file } = ensureKeptKey(dataDir)
  appendFileSync(file, 'key-number-2-0123456789\n')
  expect(ensureKeptKey(dataDir).keys).toEqual([...keys, 'key-number-2-0123456789'])
})

test('a data directory that cannot be made is told in one line', () => {
  writeFileSync(dataDir, 'a file')
  expect(() => ensureKeptKey(dataDir)).toThrow(/^the data directory .* is not a directory$/)
})

test('a key file that cannot be read is wrong usage, named as its caller names it', () => {
  expect(() => readKeysFile(join(root, 'none'), 'apiKeysFile (from --api-keys-file)')).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: expect.stringMatching(
        /^apiKeysFile \(from --api-keys-file\) cannot be read: ENOENT/,
      ) as string,
    }),
  )
})

test('a key of a file that breaks the rule is not repeated in the message', () => {
  const file = join(root, 'bad-key')
  writeFileSync(file, 'a key with spaces')
  expect(() => readKeysFile(file)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('spaces') as string }),
  )
})

test('a fingerprint is short, the same for the same key, and no part of it', () => {
  expect(fingerprintOf('key-number-1-0123456789')).toMatch(/^[0-9a-f]{12}$/)
  expect(fingerprintOf('key-number-1-0123456789')).toBe(fingerprintOf('key-number-1-0123456789'))
  expect(fingerprintOf('key-number-1-0123456789')).not.toBe(fingerprintOf('key-number-2-0123456789'))
})
