/**
 * Pages of the data file: what was read is let go of, and can be read again.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { pageReleaser } from '../codec/index.js'
import { databasePath } from './databases.js'
import { MappedPages } from './mapped-pages.js'
import { openLmdbStore } from './open-lmdb-store.js'
import { largeCycleSample } from './samples.js'

/** Bytes of a file that stand in this process's page tables. */
function mappedBytes(path: string): number {
  const maps = readFileSync('/proc/self/smaps', 'utf8').split(/\n(?=[0-9a-f]+-)/)
  const ours = maps.filter((map) => map.split('\n', 1)[0]?.endsWith(path) === true)
  return ours.reduce((sum, map) => sum + Number(/^Rss:\s+(\d+)/m.exec(map)?.[1]) * 1024, 0)
}

test.runIf(process.platform === 'linux' && pageReleaser() !== null)(
  'however much is read, little of the file stays mapped, and what is read again is the same',
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'understudy-pages-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true }))
    const store = await openLmdbStore({ dataDir })
    const samples = Array.from({ length: 8 }, (_, number) => largeCycleSample(number, 2_000_000))
    for (const sample of samples) await store.appendCycle(sample)
    // Not responses: what was read of those may be had again without the file.
    const readAll = (): void =>
      samples.forEach(({ request }, number) =>
        expect(Buffer.compare(store.readRequest(number + 1)?.bytes as Uint8Array, request.bytes)).toBe(0),
      )
    let mappedMax = 0
    for (let round = 0; round < 16; round++) {
      readAll()
      await nextTurn()
      mappedMax = Math.max(mappedMax, mappedBytes(databasePath(dataDir)))
    }
    // Two rounds of reading at most, and what is mapped along with it.
    expect(mappedMax).toBeLessThan(64 * 1024 * 1024)
    pageReleaser()?.(databasePath(dataDir))
    expect(mappedBytes(databasePath(dataDir))).toBe(0)
    readAll()
    expect(mappedBytes(databasePath(dataDir))).toBeGreaterThan(8 * 2_000_000)
    await store.close()
  },
)

test('pages are let go of once for each so many bytes, in a later turn', async () => {
  let count = 0
  const pages = new MappedPages(() => count++)
  for (let i = 0; i < 33; i++) pages.read(1024 * 1024)
  expect(count).toBe(0)
  await nextTurn()
  expect(count).toBe(1)
  for (let i = 0; i < 127; i++) pages.committed()
  await nextTurn()
  expect(count).toBe(1)
  pages.committed()
  pages.close()
  await nextTurn()
  expect(count).toBe(1)
})
