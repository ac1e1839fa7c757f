/**
 * The data directory before the server starts: created with private permissions, or refused as a usage error.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { createDataDirectory, pathError } from './data-directory.js'

const root = mkdtempSync(join(tmpdir(), 'understudy-directory-'))
afterAll(() => rmSync(root, { recursive: true }))

let base: string
beforeEach(() => {
  base = mkdtempSync(join(root, 'case-'))
})

test('missing levels are created with access for the owner only', () => {
  createDataDirectory(join(base, 'a', 'b', 'c'))
  for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(base, path)).mode & 0o777).toBe(0o700)
})

test('an existing directory keeps its mode', () => {
  const path = join(base, 'there')
  mkdirSync(path)
  chmodSync(path, 0o750)
  createDataDirectory(path)
  expect(statSync(path).mode & 0o777).toBe(0o750)
})

test('a file at its path or at a parent of it is a usage error with the source of the path', () => {
  const file = join(base, 'file')
  writeFileSync(file, '')
  expect(() => createDataDirectory(file, '--data-dir')).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: `the data directory ${file} (from --data-dir) is not a directory`,
    }),
  )
  expect(() => createDataDirectory(join(file, 'a', 'b'))).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: `the data directory ${join(file, 'a', 'b')} cannot be created: ${file} is not a directory`,
    }),
  )
})

test('a dangling link is a usage error, and a link to a directory is followed', () => {
  const link = join(base, 'link')
  symlinkSync(join(base, 'there'), link)
  expect(() => createDataDirectory(join(link, 'data'))).toThrow(
    `the data directory ${join(link, 'data')} cannot be created: ${link} is a link to nothing`,
  )
  mkdirSync(join(base, 'there'))
  createDataDirectory(join(link, 'data'))
  expect(statSync(join(base, 'there', 'data')).mode & 0o777).toBe(0o700)
})

test('a temporary failure of the machine has exit code 1, so that a supervisor tries again', () => {
  const failure = (code: string): Error => Object.assign(new Error(code), { code })
  expect(pathError('x', failure('ENOSPC'))).toMatchObject({ name: 'CommandError', exitCode: 1 })
  expect(pathError('x', failure('EROFS'))).toMatchObject({ name: 'UsageError', exitCode: 2 })
})
