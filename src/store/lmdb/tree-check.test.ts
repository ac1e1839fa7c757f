/** What is whole is never called damaged; flipped bits are for test/crash/pages.test.ts. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backUp } from './backup.js'
import { databasePath, pageBytes } from './environment.js'
import { openLmdbStore } from './open-lmdb-store.js'
import { cycleSample, largeCycleSample } from '../../../test/helpers/store-samples.js'
import { openSnapshot } from './snapshot.js'
import type { Store } from '../store.js'

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-trees-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

async function withStore(dataDir: string, work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openLmdbStore({ dataDir })
  await work(store)
  await store.close()
}

test('a file passes the check after every commit, and so does a copy of it, before and after its own first commits', async () => {
  const directory = scratch()
  const dataDir = join(directory, 'data')
  for (let number = 1; number <= 8; number++) {
    await withStore(dataDir, (store) => store.appendCycle(largeCycleSample(number, 700 * number)))
    const copy = join(directory, `copy-${number}`)
    await backUp(dataDir, copy)
    for (let more = 1; more <= 3; more++)
      await withStore(copy, (store) => store.appendCycle(cycleSample(number + more)))
    const store = await openLmdbStore({ dataDir: copy })
    expect([...store.tail(1)]).toHaveLength(number + 3)
    await store.close()
  }
})

test('a record that was shortened in the transaction that created it keeps its pages, and passes the check', async () => {
  const dataDir = scratch()
  const outcome = (placementId: string, bytes: number) => ({
    placementId,
    arrivedAtMs: 0,
    record: new Uint8Array(bytes).fill(123),
  })
  await withStore(dataDir, async (store) => {
    for (const bytes of [
      4088,
      pageBytes / 2,
      pageBytes - 8,
      pageBytes - 7,
      pageBytes + 1000,
      100_000,
      400_000,
    ])
      for (const shorter of [1, 100, 3000, bytes - pageBytes, bytes - 1].filter((length) => length > 0)) {
        const placementId = `from ${bytes} to ${shorter}`
        await store.putOutcomes([outcome(placementId, bytes), outcome(placementId, shorter)])
      }
  })
  const store = await openLmdbStore({ dataDir })
  expect(store.readOutcome('from 100000 to 100')).toHaveLength(100)
  await store.close()
})

test('a file can be checked while a server writes to it', async () => {
  const dataDir = scratch()
  await withStore(dataDir, async (store) => {
    const end = new AbortController()
    const writing = (async () => {
      for (let number = 1; !end.signal.aborted; number++)
        await store.appendCycle(largeCycleSample(number, 20_000))
    })()
    for (let look = 0; look < 20; look++) {
      const snapshot = await openSnapshot(databasePath(dataDir))
      expect(snapshot.store.closed).toBe(false)
      await snapshot.store.close()
    }
    end.abort()
    await writing
  })
})

test('meta pages of commits that are not consecutive are reported, and so is an unknown database', async () => {
  const dataDir = scratch()
  for (let number = 1; number <= 4; number++)
    await withStore(dataDir, (store) => store.appendCycle(cycleSample(number)))
  const path = databasePath(dataDir)
  const whole = readFileSync(path)
  const changed = (change: (file: Buffer) => void): Promise<Store> => {
    const file = Buffer.from(whole)
    change(file)
    writeFileSync(path, file)
    return openLmdbStore({ dataDir })
  }
  const newest = whole.readBigUInt64LE(152) > whole.readBigUInt64LE(pageBytes + 152) ? 0 : pageBytes
  // LMDB would use the previous one, and the last cycle would be lost.
  await expect(
    changed((file) => file.writeBigUInt64LE(whole.readBigUInt64LE(newest + 152) - 3n, newest + 152)),
  ).rejects.toThrow('is damaged; restore it from a backup')
  await expect(
    changed((file) => {
      for (let at = file.indexOf('outcomes'); at >= 0; at = file.indexOf('outcomes', at + 1))
        file.write('outcomez', at)
    }),
  ).rejects.toThrow(
    /understudy\.mdb is damaged; restore it from a backup: it has a database "outcomez", which no file of its schema version has$/,
  )
  const store = await changed(() => undefined)
  expect(store.lastCycle()?.position).toBe(4)
  await store.close()
})

test('a file that ends within a large record is damaged, although all its trees are complete', async () => {
  const directory = scratch()
  // Pages that earlier commits have freed take the later trees, so the last pages are those of a record.
  await withStore(directory, async (store) => {
    for (let number = 1; number <= 8; number++) await store.appendCycle(largeCycleSample(number, 300_000))
  })
  const path = databasePath(directory)
  const bytes = readFileSync(path)
  const cut = join(directory, 'cut.mdb')
  const problems = new Set<string>()
  for (let length = bytes.length - pageBytes; length > bytes.length - 400_000; length -= pageBytes) {
    writeFileSync(cut, bytes.subarray(0, length))
    await openSnapshot(cut).then(
      ({ store }) => store.close(),
      (error: unknown) => problems.add(String(error).replace(/^.*: /, '')),
    )
  }
  expect(problems).toContain('a record ends beyond the end of the file')
})
