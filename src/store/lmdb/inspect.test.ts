/** The inspection reports damage to any record of a real LMDB file, with its place. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  expiryHash,
  hashBefore,
  inspectRecords,
  linkHash,
  nameHash,
  packBytes,
  packChainEntry,
  packPosition,
  packText,
  packWeights,
  readBytes,
  readChainEntry,
  readCycle,
  recordHash,
  scorerHashes,
  type Databases,
} from '../records/index.js'
import { databasePath, openDatabases } from './environment.js'
import { openLmdbStore } from './open-lmdb-store.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  weightsSample,
} from '../../../test/helpers/store-samples.js'
import { openSnapshot } from './snapshot.js'

let dataDir: string
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'understudy-inspect-'))
  const store = await openLmdbStore({ dataDir })
  for (let number = 1; number <= 4; number++)
    await store.appendCycle(cycleSample(number, { record: bytesOf(8, number, 8, 8) }))
  await store.putImage({ gallId: 'humor', postNo: 12, position: 3 }, imageSample(1))
  await store.appendWeights(1, weightsSample('initial', 0.5))
  await store.putOutcomes([{ placementId: 'p1', record: Buffer.from('{"a":1}'), arrivedAtMs: 0 }])
  const encoder = 'ab'.repeat(32)
  await store.models.putEmbeddings(encoder, [{ key: bytesOf(1), vector: Float32Array.of(1, 2, 3) }])
  await store.models.putShadowScores(2, 'shadow', bytesOf(4, 5, 6))
  await store.models.claimVersion('m1', 'identity')
  await store.close()
})
afterEach(() => rmSync(dataDir, { recursive: true }))

async function problems(): Promise<string[]> {
  const problems: string[] = []
  // Records of equal bytes are flipped together; one of them may be the schema version.
  const snapshot = await openSnapshot(databasePath(dataDir)).catch((error: unknown) => String(error))
  if (typeof snapshot === 'string') return [snapshot]
  inspectRecords(snapshot, (problem) => problems.push(problem))
  await snapshot.store.close()
  return problems
}

/** Changes the database without the store. */
async function tamper(change: (databases: Databases) => unknown): Promise<void> {
  const databases = await openDatabases(dataDir, 1 << 30)
  databases.root.transactionSync(() => void change(databases))
  await databases.root.close()
}

test('a valid file has no problems, and all its records are counted', async () => {
  const snapshot = await openSnapshot(databasePath(dataDir))
  const counts = inspectRecords(snapshot, (problem) => expect.fail(problem))
  expect(counts).toMatchObject({
    cycles: 4,
    requests: 4,
    cycle_records: 4,
    images: 1,
    weights: 1,
    outcomes: 1,
  })
  await snapshot.store.close()
})

test('a flipped bit in any record is reported', async () => {
  const path = databasePath(dataDir)
  const whole = readFileSync(path)
  const snapshot = await openSnapshot(path)
  const records = Object.entries(snapshot.databases)
    .filter(([name]) => name !== 'root' && name !== 'meta')
    .flatMap(([name, database]) =>
      [...(database as Databases['outcomes']).getRange({})].map(({ value }) => ({
        name,
        value: Buffer.from(value),
      })),
    )
  await snapshot.store.close()
  expect(records.length).toBeGreaterThan(25)
  let flips = 0
  for (const { name, value } of records) {
    const start = whole.lastIndexOf(value)
    expect(start, name).toBeGreaterThan(0)
    // All of the envelope, then every few bytes: one transaction may leave an older copy of a page behind, so that all
    // copies are flipped.
    for (let at = 0; at < value.length; at += at < 10 ? 1 : 13) {
      const damaged = Buffer.from(whole)
      for (let copy = whole.indexOf(value); copy >= 0; copy = whole.indexOf(value, copy + 1))
        damaged[copy + at] = damaged[copy + at]! ^ (1 << (flips % 8))
      writeFileSync(path, damaged)
      expect(await problems(), `${name}, byte ${at}`).not.toEqual([])
      flips++
    }
  }
  expect(flips).toBeGreaterThan(300)
  writeFileSync(path, whole)
  expect(await problems()).toEqual([])
})

test('missing records and unexpected records are reported with their place', async () => {
  await tamper((db) => void db.requests.remove(2))
  expect(await problems()).toEqual(['requests, position 2: the record is missing'])
  await tamper((db) => {
    db.responses.put(9, db.responses.getBinary(1)!)
  })
  expect(await problems()).toContain('responses, position 9: there is no such cycle')
  await tamper((db) => db.cycles.remove(3))
  expect(await problems()).toContain('cycles: the positions have a gap between 2 and 4')
})

describe('a cycle is named', () => {
  /** Another record of position `to`, with a valid envelope. */
  const copyRecord = (
    name: 'responses' | 'cycleRecords' | 'cycles',
    from: number,
    to: number,
  ): Promise<void> => tamper((db) => db[name].put(to, db[name].getBinary(from)!))
  const broken = (number: number): unknown =>
    expect.stringContaining(`cycle ${cycleIdAt(number)} (position ${number}): its hash does not follow`)

  test.each(['responses', 'cycleRecords'] as const)('whose %s are those of another', async (name) => {
    await copyRecord(name, 1, 3)
    expect(await problems()).toEqual([broken(3)])
  })

  test('also the last one', async () => {
    await copyRecord('cycleRecords', 1, 4)
    expect(await problems()).toEqual([broken(4)])
  })

  test('that was changed with its hash: the next one does not follow from it', async () => {
    await tamper((db) => {
      const entry = readChainEntry(db.chain.getBinary(2)!)
      const record = bytesOf(1)
      const recordSha256 = recordHash(db.cycles.getBinary(2)!, record)
      const hash = linkHash(hashBefore(db, 2), { ...entry, recordSha256 })
      db.chain.put(2, packChainEntry({ ...entry, hash }))
      db.cycleRecords.put(2, packBytes(record))
    })
    expect(await problems()).toEqual([broken(3)])
  })

  test('whose hashes are missing', async () => {
    await tamper((db) => void db.chain.remove(3))
    expect(await problems()).toEqual([`cycle ${cycleIdAt(3)} (position 3): its hashes are missing`])
    await tamper((db) => void db.chain.put(9, db.chain.getBinary(1)!))
    expect(await problems()).toContain('chain, position 9: there is no such cycle')
  })

  test('alone when its hashes are damaged', async () => {
    await tamper((db) => {
      const record = db.chain.getBinary(2)!
      record[9] = record[9]! ^ 1
      db.chain.put(2, record)
    })
    expect(await problems()).toEqual(['chain, position 2: the stored hashes of a cycle is damaged'])
  })

  test('alone when its response is damaged: the next cycle is stored', async () => {
    await tamper((db) => {
      const record = db.responses.getBinary(4)!
      record[9] = record[9]! ^ 1
      db.responses.put(4, record)
    })
    const store = await openLmdbStore({ dataDir })
    expect(await store.appendCycle(cycleSample(5))).toBe(5)
    await store.close()
    expect(await problems()).toEqual(['responses, position 4: the stored response is damaged'])
  })

  test('after which another was removed', async () => {
    await tamper((db) => {
      for (const database of [db.cycles, db.requests, db.responses, db.cycleRecords]) database.remove(2)
    })
    const reported = await problems()
    expect(reported).toContain('cycles: the positions have a gap between 1 and 3')
    expect(reported).toContainEqual(broken(3))
  })

  test('whose predecessors were removed as if they had expired', async () => {
    await tamper((db) => {
      for (const database of [db.cycles, db.requests, db.responses, db.cycleRecords]) database.remove(1)
    })
    expect(await problems()).toContain('cycles: the positions have a gap between 0 and 2')
  })

  test('no more after its request and its response, and then its record, have expired', async () => {
    const store = await openLmdbStore({ dataDir })
    await store.savePool(4, bytesOf(1))
    await store.expiry.removeCycles([1, 2].map((position) => ({ position, keepEntry: false })))
    await store.close()
    expect(await problems()).toEqual([])
    await copyRecord('cycleRecords', 1, 2)
    expect(await problems()).toEqual([broken(2)])
    const again = await openLmdbStore({ dataDir })
    await again.expiry.removeRecords([1, 2])
    await again.close()
    expect(await problems()).toEqual([])
  })
})

/** Removes the cycles up to a position as an expiry does, without an entry in the chain. */
const cutOldest = (db: Databases, through: number): void => {
  const { hash } = readChainEntry(db.chain.getBinary(through)!)
  for (let position = 1; position <= through; position++)
    for (const database of [db.cycles, db.requests, db.responses, db.cycleRecords, db.chain])
      database.remove(position)
  db.chain.put(0, packBytes(Buffer.from(JSON.stringify({ position: through, hash }))))
}

describe('what was removed or exchanged in an otherwise valid file is reported', () => {
  test.each<[what: string, change: (db: Databases) => void, problem: string[]]>([
    [
      'the numbers of weights that scored',
      (db) => {
        const { weights, ...others } = weightsSample('initial', 0.6)
        db.weights.put(1, packWeights({ ...others, weights }))
      },
      ['weights initial: they are not those with which cycles were scored'],
    ],
    [
      'the identity of a model that scored',
      (db) => db.modelVersions.put(nameHash('model-6'), packText('another')),
      ['model version model-6: its identity is not that of the model that scored cycles'],
    ],
    [
      'the oldest cycles, as if they had expired',
      (db) => cutOldest(db, 2),
      [
        'chain: records are missing up to position 2, and have expired up to position 0',
        'chain: responses are missing up to position 2, and have expired up to position 0',
      ],
    ],
    [
      'the oldest requests and responses, as if they had expired',
      (db) => {
        for (const position of [1, 2])
          for (const database of [db.requests, db.responses]) database.remove(position)
      },
      ['chain: responses are missing up to position 2, and have expired up to position 0'],
    ],
    [
      'an expiry',
      (db) => {
        const entry = readChainEntry(db.chain.getBinary(6)!)
        const expiries = [{ ended: 'responses', through: 1, hash: entry.hash } as const]
        db.chain.put(6, packChainEntry({ ...entry, expiries }))
        for (const database of [db.requests, db.responses]) database.remove(1)
      },
      ['chain, position 6: the hash of an expiry does not follow from the one before'],
    ],
    [
      'the id of a position',
      (db) => db.cycleIds.remove(Buffer.from(cycleIdAt(2))),
      [`cycle ids: position 2 (${cycleIdAt(2)}) cannot be found by its id`],
    ],
  ])('%s', async (_, change, expected) => {
    const store = await openLmdbStore({ dataDir })
    await store.models.claimVersion('model-6', 'files')
    for (const number of [5, 6]) await store.appendCycle(cycleSample(number))
    await store.close()
    expect(await problems()).toEqual([])
    await tamper(change)
    expect(await problems()).toEqual(expected)
  })

  test('the id of a cycle whose record has expired', async () => {
    const store = await openLmdbStore({ dataDir })
    await store.savePool(4, bytesOf(1))
    await store.expiry.removeCycles([{ position: 1, keepEntry: false }])
    await store.expiry.removeRecords([1])
    await store.close()
    await tamper((db) => void db.cycleIds.remove(Buffer.from(cycleIdAt(1))))
    expect(await problems()).toEqual(['cycle ids: position 1 (expired) cannot be found by its id'])
    await tamper((db) => {
      for (const id of [cycleIdAt(1), cycleIdAt(0)]) db.cycleIds.put(Buffer.from(id), packPosition(1))
    })
    expect(await problems()).toEqual([`cycle ids, ${cycleIdAt(1)}: position 1 has another id, too`])
  })
})

describe('what only a hash that was noted earlier shows', () => {
  const hasHash = async (hash: string): Promise<boolean> => {
    const { store } = await openSnapshot(databasePath(dataDir))
    const links = [...store.chainLinks()]
    await store.close()
    return links.some((link) => link.hash === hash)
  }
  const head = async (): Promise<string> => {
    const { store } = await openSnapshot(databasePath(dataDir))
    const link = store.chainHead()
    await store.close()
    return link?.hash ?? ''
  }
  /** Gives each cycle from a position on the hash that follows from its records as they are now. */
  const recompute = (db: Databases, from: number): void => {
    for (let position = from; db.cycles.doesExist(position); position++) {
      const entry = readChainEntry(db.chain.getBinary(position)!)
      const record = readBytes(db.cycleRecords.getBinary(position)!, 'record')
      const recordSha256 = recordHash(db.cycles.getBinary(position)!, record)
      const hash = linkHash(hashBefore(db, position), { ...entry, recordSha256 })
      db.chain.put(position, packChainEntry({ ...entry, hash }))
    }
  }

  test.each<[what: string, change: (db: Databases) => void]>([
    [
      'a changed cycle, with all hashes computed again',
      (db) => {
        db.cycleRecords.put(2, packBytes(bytesOf(1)))
        recompute(db, 2)
      },
    ],
    [
      'removed newest cycles',
      (db) => {
        for (const database of [db.cycles, db.requests, db.responses, db.cycleRecords, db.chain])
          database.remove(4)
        db.cycleIds.remove(Buffer.from(cycleIdAt(4)))
      },
    ],
    [
      'changed weights, with all hashes computed again',
      (db) => {
        db.weights.put(1, packWeights(weightsSample('initial', 0.6)))
        for (const { key } of [...db.cycles.getRange({})]) {
          const entry = readChainEntry(db.chain.getBinary(key)!)
          const scorer = scorerHashes(db, readCycle(db.cycles.getBinary(key)!))
          db.chain.put(key, packChainEntry({ ...entry, ...scorer }))
        }
        recompute(db, 1)
      },
    ],
  ])('%s', async (_, change) => {
    const noted = await head()
    expect(await hasHash(noted)).toBe(true)
    await tamper(change)
    expect(await problems()).toEqual([])
    expect(await hasHash(noted)).toBe(false)
  })

  test('not even that shows the oldest cycles removed with a new expiry at the end: the oldest cycle does', async () => {
    const noted = await head()
    await tamper((db) => {
      cutOldest(db, 2)
      const { hash, ...entry } = readChainEntry(db.chain.getBinary(4)!)
      let before = hash
      const expiries = (['responses', 'records'] as const).map((ended) => {
        const expiry = { ended, through: 2 }
        before = expiryHash(before, expiry)
        return { ...expiry, hash: before }
      })
      db.chain.put(4, packChainEntry({ ...entry, hash, expiries }))
    })
    expect(await problems()).toEqual([])
    expect(await hasHash(noted)).toBe(true)
    const { store } = await openSnapshot(databasePath(dataDir))
    const [oldest] = store.recordedCycles()
    await store.close()
    expect(oldest?.position).toBe(3)
  })
})

test('an image and the entry that finds it by its hash belong together', async () => {
  let added = new Uint8Array()
  await tamper((db) => {
    const [use] = [...db.imageUses.getKeys({})] as [Uint8Array]
    // The same image with other bytes.
    added = Uint8Array.from(use).fill(77, 0, 32)
    db.imageUses.put(added, db.imageUses.getBinary(use)!)
    db.imageUses.remove(Uint8Array.from(use))
  })
  const reported = await problems()
  expect(reported).toHaveLength(2)
  expect(reported[0]).toMatch(/^images, .*: cannot be found by its hash$/)
  expect(reported[1]).toBe(
    `image uses, ${Buffer.from(added).toString('hex')}: there is no image with these bytes`,
  )
})

test('the last of 250 images is read: damage to it is the only problem that is reported', async () => {
  const store = await openLmdbStore({ dataDir })
  const keyAt = (postNo: number) => ({ gallId: 'many', postNo, position: 1 })
  const puts = Array.from({ length: 250 }, (_, index) => store.putImage(keyAt(index + 1), imageSample(7)))
  await Promise.all(puts)
  await store.close()
  let last = ''
  await tamper((db) => {
    const key = [...db.imageBytes.getKeys({})].at(-1) as Uint8Array
    const bytes = Uint8Array.from(db.imageBytes.getBinary(key)!)
    bytes[bytes.length - 1] = 0
    db.imageBytes.put(key, bytes)
    last = Buffer.from(key).toString('hex')
  })
  expect(await problems()).toEqual([`image bytes, ${last}: the stored image is damaged`])
})

test('a vector has at most 16,384 numbers', async () => {
  const encoder = 'cd'.repeat(32)
  const store = await openLmdbStore({ dataDir })
  await store.models.putEmbeddings(encoder, [{ key: bytesOf(1), vector: new Float32Array(16_384) }])
  await store.close()
  expect(await problems()).toEqual([])
  const other = await openLmdbStore({ dataDir })
  await other.models.putEmbeddings(encoder, [{ key: bytesOf(1), vector: new Float32Array(16_385) }])
  await other.close()
  expect(await problems()).toEqual([expect.stringContaining('16385 numbers')])
})

test('ids, images and outcomes under a wrong key are reported', async () => {
  await tamper((db) => {
    const [id] = db.cycleIds.getKeys({})
    db.cycleIds.put(Buffer.from('20990101T0000'), db.cycleIds.getBinary(id as Uint8Array)!)
    db.cycleIds.remove(id as Uint8Array)
    for (const key of [...db.imageBytes.getKeys({})]) db.imageBytes.remove(key)
    const [row] = db.outcomes.getRange({})
    db.outcomes.put(new Uint8Array(16), row!.value)
  })
  expect(await problems()).toEqual([
    'cycle ids, 20990101T0000: position 1 holds 20260101T0001',
    'images, humor/12/3: its bytes are missing',
    'outcomes, p1: is stored under the key of another placement',
  ])
})
