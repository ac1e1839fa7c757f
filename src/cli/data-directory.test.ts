/**
 * The data directory before the server starts: made for its owner alone, or refused as a wrong setting.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { dataDirectoryWarnings, makeDataDirectory, pathError } from './data-directory.js'

const root = mkdtempSync(join(tmpdir(), 'understudy-directory-'))
afterAll(() => rmSync(root, { recursive: true }))

let base: string
beforeEach(() => {
  base = mkdtempSync(join(root, 'case-'))
})

test('every level that is lacking is made for its owner alone', () => {
  makeDataDirectory(join(base, 'a', 'b', 'c'))
  for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(base, path)).mode & 0o777).toBe(0o700)
})

test('a directory that is there keeps its mode', () => {
  const path = join(base, 'there')
  mkdirSync(path)
  chmodSync(path, 0o750)
  makeDataDirectory(path)
  expect(statSync(path).mode & 0o777).toBe(0o750)
})

test('a directory that anyone can look into earns a warning with the command that mends it', () => {
  const path = join(base, 'open')
  mkdirSync(path)
  for (const [mode, count] of [
    [0o700, 0],
    [0o750, 0],
    [0o751, 1],
    [0o755, 1],
  ] as const) {
    chmodSync(path, mode)
    expect(dataDirectoryWarnings(path), mode.toString(8)).toHaveLength(count)
  }
  expect(dataDirectoryWarnings(path)[0]).toContain(`chmod o= ${path}`)
})

test('a file in its place or above it is told as wrong usage, with the origin of the path', () => {
  const file = join(base, 'file')
  writeFileSync(file, '')
  expect(() => makeDataDirectory(file, '--data-dir')).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: `the data directory ${file} (from --data-dir) is not a directory`,
    }),
  )
  expect(() => makeDataDirectory(join(file, 'a', 'b'))).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: `the data directory ${join(file, 'a', 'b')} cannot be made: ${file} is not a directory`,
    }),
  )
})

test('a link to nothing is told as wrong usage, and one to a directory is that directory', () => {
  const link = join(base, 'link')
  symlinkSync(join(base, 'there'), link)
  expect(() => makeDataDirectory(join(link, 'data'))).toThrow(
    `the data directory ${join(link, 'data')} cannot be made: ${link} is a link to nothing`,
  )
  mkdirSync(join(base, 'there'))
  makeDataDirectory(join(link, 'data'))
  expect(statSync(join(base, 'there', 'data')).mode & 0o777).toBe(0o700)
})

test('trouble of the machine that may pass is no wrong usage: a supervisor may try again', () => {
  const failure = (code: string): Error => Object.assign(new Error(code), { code })
  expect(pathError('x', failure('ENOSPC'))).toMatchObject({ name: 'CommandError', exitCode: 1 })
  expect(pathError('x', failure('EROFS'))).toMatchObject({ name: 'UsageError', exitCode: 2 })
})
