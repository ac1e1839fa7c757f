/** Checks of a database file to which another process may write at the same time. */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { mebibyte } from '../../base/index.js'
import { databasePath, pageBytes } from './environment.js'
import { checkDatabaseFile } from './file-check.js'
import { agreedProblem } from './tree-check.js'
import { openLmdbStore } from './open-lmdb-store.js'
import { readMeta } from './page-layout.js'
import { openFilesIn } from '../../../test/helpers/open-files.js'
import { cycleSample, largeCycleSample } from '../../../test/helpers/store-samples.js'

/** `findings`: one for each check. The meta pages change during the first `commits` checks. */
function agreed(findings: readonly (string | null)[], commits: number): string | null {
  let checkCount = 0
  const check = (): string | null => findings[checkCount++] ?? expect.fail('one check too many')
  const metaPages = (): Uint8Array => Uint8Array.of(Math.min(checkCount, commits))
  return agreedProblem(check, metaPages)
}

test('a check without a concurrent commit is conclusive, and so is one that finds no problem', () => {
  expect(agreed(['a'], 0)).toBe('a')
  expect(agreed(['a', 'b'], 1)).toBe('b')
  expect(
    agreedProblem(
      () => null,
      () => Uint8Array.of(1),
    ),
  ).toBeNull()
})

test('a problem that all checks find is reported although a commit happened during each; different problems are not', () => {
  expect(agreed(['a', 'a', 'a', 'a'], 4)).toBe('a')
  expect(agreed(['a', 'b', 'a', 'a'], 4)).toBeNull()
})

test('a damaged page is reported while other pages change: only the meta pages show that there was a commit', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'understudy-look-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const store = await openLmdbStore({ dataDir })
  for (let number = 1; number <= 3; number++) await store.appendCycle(cycleSample(number))
  await store.close()
  const path = databasePath(dataDir)
  const file = readFileSync(path)
  const metas = [0, pageBytes].map((start) => readMeta(file.subarray(start)))
  // The roots of both states: whichever is the newer one.
  const roots = metas.map((meta) => meta?.databases.root ?? expect.fail('no root'))
  expect(Math.max(...roots)).toBeLessThan(32)
  for (const root of roots) file.writeBigUInt64LE(1000n, root * pageBytes)
  writeFileSync(path, file)
  const source = `
    const { openSync, writeSync } = require('node:fs')
    const { parentPort, workerData } = require('node:worker_threads')
    const file = openSync(workerData.path, 'r+')
    parentPort.postMessage('begins')
    for (let count = 0; ; count++)
      for (const root of workerData.roots)
        writeSync(file, Uint8Array.of(count & 255, (count >> 8) & 255, 1), 0, 3, root * workerData.pageBytes)`
  const writer = new Worker(source, { eval: true, workerData: { path, roots, pageBytes } })
  onTestFinished(() => writer.terminate().then(() => undefined))
  await once(writer, 'message')
  await expect(checkDatabaseFile(path, 'read')).rejects.toThrow('is damaged')
})

test('a file that lacks its last page is read while a server writes to it, and is no whole backup', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'understudy-look-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const path = databasePath(dataDir)
  // The newest state is in the first and in the second meta page, in turns.
  for (let number = 1; number <= 4; number++) {
    const store = await openLmdbStore({ dataDir })
    await store.appendCycle(largeCycleSample(number, 100_000))
    await store.close()
    const file = readFileSync(path)
    const lastPages = [0, pageBytes].map((start) => readMeta(file.subarray(start))?.lastPage ?? 0)
    const needed = (Math.max(...lastPages) + 1) * pageBytes
    writeFileSync(path, file.subarray(0, needed))
    expect(await checkDatabaseFile(path, 'read whole')).toBe('whole')
    truncateSync(path, needed - 1)
    await expect(checkDatabaseFile(path, 'read whole')).rejects.toThrow(
      `is truncated: ${needed - 1} bytes, ${needed} are in use`,
    )
    expect(openFilesIn(dataDir)).toEqual([])
    expect(await checkDatabaseFile(path, 'read')).toBe('whole')
    writeFileSync(path, file)
  }
})

test('a large file is checked in a thread, and damage that the thread finds is reported', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'understudy-look-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const store = await openLmdbStore({ dataDir })
  for (let number = 1; number <= 3; number++) await store.appendCycle(cycleSample(number))
  await store.close()
  const path = databasePath(dataDir)
  // Sparse: it takes no space on the disk.
  truncateSync(path, 200 * mebibyte)
  expect(await checkDatabaseFile(path, 'write')).toBe('whole')
  const file = openSync(path, 'r+')
  onTestFinished(() => closeSync(file))
  for (const start of [0, pageBytes]) {
    const meta = Buffer.alloc(160)
    readSync(file, meta, 0, meta.length, start)
    const root = readMeta(meta)?.databases.root ?? expect.fail('no root')
    writeSync(file, Uint8Array.of(1, 2, 3), 0, 3, root * pageBytes)
  }
  await expect(checkDatabaseFile(path, 'write')).rejects.toThrow(/is damaged; .*not the expected page/)
})
