/**
 * What every store must hold, run over each implementation. What is LMDB's alone stands in lmdb-store.test.ts.
 */
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryStore, openLmdbStore, StoreError, type ImageKey, type Store } from './index.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  largeCycleSample,
  weightsSample,
} from '../../test/helpers/store-samples.js'

const directories: string[] = []
const stores: Store[] = []

function arrivalOf(store: Store, key: ImageKey): number | null | undefined {
  const isThis = (row: { readonly key: ImageKey }): boolean =>
    JSON.stringify(Object.entries(row.key).sort()) === JSON.stringify(Object.entries(key).sort())
  return store.expiry.imagesAfter(null, 1000).rows.find(isThis)?.arrivedAtMs
}

const implementations = {
  memory: () => Promise.resolve(createMemoryStore()),
  lmdb: async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'understudy-store-'))
    directories.push(dataDir)
    return openLmdbStore({ dataDir })
  },
}

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()))
  await Promise.all(directories.splice(0).map((path) => rm(path, { recursive: true })))
})

describe.each(Object.entries(implementations))('%s', (_, openStore) => {
  async function newStore(): Promise<Store> {
    const store = await openStore()
    stores.push(store)
    return store
  }

  describe('cycles', () => {
    test('a new store has nothing', async () => {
      const store = await newStore()
      expect(store.lastCycle()).toBeUndefined()
      expect(store.findCycle(cycleIdAt(1))).toBeUndefined()
      expect(store.readResponse(cycleIdAt(1))).toBeUndefined()
      expect(store.readRequest(1)).toBeUndefined()
      expect(store.readPool()).toBeUndefined()
      expect([...store.tail(0), ...store.imageKeys(), ...store.listWeights()]).toEqual([])
      expect(store.readOutcome('p')).toBeUndefined()
    })

    test('everything of a cycle comes back as it was given', async () => {
      const store = await newStore()
      const cycle = cycleSample(1, { entered: bytesOf(1, 2, 3), left: bytesOf(4), availability: bytesOf(5) })
      expect(await store.appendCycle(cycle)).toBe(1)
      const { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion } = cycle
      const header = { position: 1, cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion }
      expect(store.findCycle(cycleId)).toEqual(header)
      expect(store.lastCycle()).toEqual(header)
      expect(store.readRequest(1)).toEqual(cycle.request)
      expect(store.readResponse(cycleId)).toEqual(cycle.response)
      expect(store.readEntered(1)).toEqual(cycle.entered)
      expect(store.readLeft(1)).toEqual(cycle.left)
      expect(store.readAvailability(1)).toEqual(cycle.availability)
      expect(store.readPool()).toEqual(cycle.pool)
    })

    test('columns that are null and columns that are empty stay apart', async () => {
      const store = await newStore()
      await store.appendCycle(cycleSample(1, { entered: null, left: bytesOf(), pool: bytesOf() }))
      expect(store.readEntered(1)).toBeUndefined()
      expect(store.readAvailability(1)).toBeUndefined()
      expect(store.readLeft(1)).toEqual(bytesOf())
      expect(store.readPool()).toEqual(bytesOf())
    })

    test('labels may hold any text, lone surrogates too', async () => {
      const store = await newStore()
      const labels = { modelVersion: '모델 "7"\u0000\ud800', weightsVersion: '가중치\udfff', receivedAt: '' }
      await store.appendCycle(cycleSample(1, labels))
      expect(store.lastCycle()).toMatchObject(labels)
    })

    test('positions count 1, 2, 3 in order of arrival, whatever the cycle ids say', async () => {
      const store = await newStore()
      const numbers = [5, 3, 9, 1]
      const positions = await Promise.all(numbers.map((number) => store.appendCycle(cycleSample(number))))
      expect(positions).toEqual([1, 2, 3, 4])
      expect([...store.tail(1)].map((cycle) => cycle.cycleId)).toEqual(numbers.map(cycleIdAt))
      expect([...store.tail(3)].map((cycle) => cycle.position)).toEqual([3, 4])
      expect([...store.tail(5)]).toEqual([])
      expect(store.lastCycle()?.cycleId).toBe(cycleIdAt(1))
    })

    test('the pool is that of the last cycle to arrive', async () => {
      const store = await newStore()
      await store.appendCycle(cycleSample(2, { pool: bytesOf(2, 2) }))
      await store.appendCycle(cycleSample(1, { pool: bytesOf(1) }))
      expect(store.readPool()).toEqual(bytesOf(1))
    })

    test('a stored cycle id is refused, and nothing of the second cycle is stored', async () => {
      const store = await newStore()
      const first = cycleSample(1, { pool: bytesOf(1) })
      await store.appendCycle(first)
      const second = cycleSample(1, { response: bytesOf(9), pool: bytesOf(9), modelVersion: 'other' })
      await expect(store.appendCycle(second)).rejects.toMatchObject({ code: 'exists' })
      expect(store.readResponse(first.cycleId)).toEqual(first.response)
      expect(store.readPool()).toEqual(first.pool)
      expect([...store.tail(1)]).toHaveLength(1)
      expect(await store.appendCycle(cycleSample(2))).toBe(2)
    })

    test('of two cycles with one id at once, one is stored, and no position is lost', async () => {
      const store = await newStore()
      const samples = [cycleSample(1), cycleSample(1, { response: bytesOf(7) }), cycleSample(2)]
      const results = await Promise.allSettled(samples.map((sample) => store.appendCycle(sample)))
      expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect([...store.tail(1)].map((cycle) => cycle.cycleId)).toEqual([cycleIdAt(1), cycleIdAt(2)])
    })

    test('bytes are free for reuse as soon as a call has returned', async () => {
      const store = await newStore()
      const cycle = largeCycleSample(1, 20_000)
      const expected = structuredClone(cycle)
      const written = store.appendCycle(cycle)
      const { request, response, entered, left, pool } = cycle
      for (const bytes of [request.bytes, response, entered, left, pool]) bytes?.fill(0)
      await written
      expect(store.readRequest(1)).toEqual(expected.request)
      expect(store.readResponse(cycle.cycleId)).toEqual(expected.response)
      expect(store.readEntered(1)).toEqual(expected.entered)
      expect(store.readLeft(1)).toEqual(expected.left)
      expect(store.readPool()).toEqual(expected.pool)
    })

    test('each reader of a response has a copy of its own', async () => {
      const store = await newStore()
      const samples = [1, 2].map((number) => largeCycleSample(number, 5000 * number))
      for (const sample of samples) await store.appendCycle(sample)
      for (const { cycleId, response } of samples) {
        const copy = store.readResponse(cycleId)
        expect(copy).toEqual(response)
        copy?.fill(0)
        expect(store.readResponse(cycleId)).toEqual(response)
      }
    })

    test('cycles of any sizes, one after the other and at once, keep their bytes apart', async () => {
      const store = await newStore()
      const sizes = [0, 1, 4095, 4096, 20_000, 7, 200_000, 12, 20_000, 1, 0]
      const samples = sizes.map((bytes, number) => largeCycleSample(number, bytes))
      for (const sample of samples.slice(0, 6)) await store.appendCycle(sample)
      await Promise.all(samples.slice(6).map((sample) => store.appendCycle(sample)))
      for (const [index, sample] of samples.entries()) {
        expect(store.readRequest(index + 1)).toEqual(sample.request)
        expect(store.readResponse(sample.cycleId)).toEqual(sample.response)
        expect(store.readEntered(index + 1)).toEqual(sample.entered)
        expect(store.readLeft(index + 1)).toEqual(sample.left)
      }
      expect(store.readPool()).toEqual(samples.at(-1)?.pool)
    })

    test('what was read stays as it is, whatever is read, written or changed later', async () => {
      const store = await newStore()
      const large = new Uint8Array(300_000).fill(1)
      await store.appendCycle(cycleSample(1, { pool: large }))
      const pool = store.readPool()
      await store.appendCycle(cycleSample(2, { pool: new Uint8Array(300_000).fill(2) }))
      const later = store.readPool()
      later?.fill(3)
      expect(pool).toEqual(large)
      expect(store.readPool()?.[0]).toBe(2)
    })

    test('columns come back aligned to eight bytes', async () => {
      const store = await newStore()
      for (const [index, count] of [1, 3, 5000, 100_000].entries()) {
        const columns = new Uint8Array(new Float64Array(count).fill(Math.PI).buffer)
        await store.appendCycle(cycleSample(index, { pool: columns, entered: columns }))
        for (const read of [store.readPool(), store.readEntered(index + 1)])
          expect((read as Uint8Array).byteOffset % 8).toBe(0)
      }
    })
  })

  describe('images', () => {
    const key = { gallId: 'baseball', postNo: 7, position: 1 }

    test('an image comes back as it was given', async () => {
      const store = await newStore()
      const image = imageSample(1)
      expect(await store.putImage(key, image)).toBe('created')
      expect(store.findImage(key)).toEqual(image)
      expect(store.findImage({ ...key, position: 2 })).toBeUndefined()
    })

    test('the same upload again is the same, another one is different, and the first stays', async () => {
      const store = await newStore()
      await store.putImage(key, imageSample(1))
      expect(await store.putImage(key, imageSample(1))).toBe('same')
      expect(await store.putImage(key, imageSample(2))).toBe('different')
      expect(store.findImage(key)).toEqual(imageSample(1))
    })

    test('an image that comes again has arrived anew, but not within an hour; one that differs changes nothing', async () => {
      const store = await newStore()
      const hourMs = 3_600_000
      const arrivals: unknown[] = []
      for (const [number, arrivedAtMs] of [
        [1, 10 * hourMs],
        [1, 11 * hourMs - 1000],
        [2, 20 * hourMs],
        [1, 11 * hourMs],
        [1, 5 * hourMs],
      ] as const) {
        await store.putImage(key, { ...imageSample(number), arrivedAtMs })
        arrivals.push(arrivalOf(store, key))
      }
      expect(arrivals).toEqual([10, 10, 10, 11, 11].map((hours) => hours * hourMs))
    })

    test('an image that is put as it was found has arrived anew, now', async () => {
      const store = await newStore()
      await store.putImage(key, { ...imageSample(1), arrivedAtMs: 1000 })
      const found = store.findImage(key) ?? expect.fail('it is not there')
      expect(found).toEqual(imageSample(1))
      const beforeMs = Date.now()
      expect(await store.putImage(key, found)).toBe('same')
      // Kept in whole seconds.
      expect(arrivalOf(store, key)).toBeGreaterThan(beforeMs - 1000)
    })

    test('of many uploads to one key at once, exactly one is created', async () => {
      const store = await newStore()
      const samples = [1, 1, 1, 1, 2, 2, 2, 2]
      const results = await Promise.all(samples.map((sample) => store.putImage(key, imageSample(sample))))
      expect(results).toEqual(['created', 'same', 'same', 'same', ...Array<string>(4).fill('different')])
    })

    test('the hash of an image is read without its picture, and of none where there is none', async () => {
      const store = await newStore()
      const key = { gallId: 'g', postNo: 1, position: 2 }
      await store.putImage(key, imageSample(3))
      expect(store.readImageHash(key)).toEqual(imageSample(3).sha256)
      expect(store.readImageHash({ ...key, position: 1 })).toBeUndefined()
      expect(store.readImageHash({ ...key, gallId: 'h' })).toBeUndefined()
    })

    test('keys that look alike do not meet, and all of them are listed', async () => {
      const store = await newStore()
      const gallIds = ['a/1', 'a', 'a\u0000', '\ud800', '\udfff', '\ufffd', '갤'.repeat(5000), '"', 'A']
      const keys = gallIds.flatMap((gallId) =>
        [1, 12, Number.MAX_SAFE_INTEGER].map((number) => ({ gallId, postNo: number, position: number })),
      )
      const results = await Promise.all(keys.map((each, index) => store.putImage(each, imageSample(index))))
      expect(new Set(results)).toEqual(new Set(['created']))
      for (const [index, each] of keys.entries()) expect(store.findImage(each)).toEqual(imageSample(index))
      const listed = [...store.imageKeys()]
      expect(listed).toHaveLength(keys.length)
      expect(listed).toEqual(expect.arrayContaining(keys))
    })

    test('more keys than one batch holds are all listed once', async () => {
      const store = await newStore()
      const positions = Array.from({ length: 2500 }, (_, index) => index + 1)
      const image = imageSample(0)
      await Promise.all(positions.map((position) => store.putImage({ ...key, position }, image)))
      const listed = [...store.imageKeys()].map(({ position }) => position).sort((a, b) => a - b)
      expect(listed).toEqual(positions)
    })
  })

  describe('what models leave behind', () => {
    const encoder = 'a'.repeat(64)
    const otherEncoder = `${'a'.repeat(31)}b${'a'.repeat(32)}`
    const vector = (...values: readonly number[]) => Float32Array.from(values)

    test('a new store has nothing', async () => {
      const { models } = await newStore()
      expect(models.readEmbedding(encoder, bytesOf(1))).toBeUndefined()
      expect(models.readShadowScores(1, 'm')).toBeUndefined()
      expect(models.readIdentity('m')).toBeUndefined()
    })

    test('a vector comes back to the last bit, under its encoder and its key alone', async () => {
      const { models } = await newStore()
      const odd = vector(0.1, -0, 1e-45, 3.4e38, NaN)
      await models.putEmbeddings(encoder, [
        { key: bytesOf(1), vector: odd },
        { key: bytesOf(1, 2), vector: vector(2) },
        { key: new Uint8Array(32).fill(255), vector: vector(3) },
      ])
      expect(models.readEmbedding(encoder, bytesOf(1))).toEqual(odd)
      expect(models.readEmbedding(encoder, bytesOf(1, 2))).toEqual(vector(2))
      expect(models.readEmbedding(encoder, new Uint8Array(32).fill(255))).toEqual(vector(3))
      expect(models.readEmbedding(encoder, bytesOf(2))).toBeUndefined()
      expect(models.readEmbedding(otherEncoder, bytesOf(1))).toBeUndefined()
    })

    test('a vector that is stored again replaces the one before', async () => {
      const { models } = await newStore()
      await models.putEmbeddings(encoder, [{ key: bytesOf(1), vector: vector(1, 2) }])
      await models.putEmbeddings(encoder, [{ key: bytesOf(1), vector: vector(3) }])
      await models.putEmbeddings(encoder, [])
      expect(models.readEmbedding(encoder, bytesOf(1))).toEqual(vector(3))
    })

    test('vectors are free for reuse as soon as a call has returned, and so are those that were read', async () => {
      const { models } = await newStore()
      const given = vector(1, 2)
      const key = bytesOf(1)
      const storing = models.putEmbeddings(encoder, [{ key, vector: given }])
      given.fill(9)
      key.fill(9)
      await storing
      models.readEmbedding(encoder, bytesOf(1))?.fill(8)
      expect(models.readEmbedding(encoder, bytesOf(1))).toEqual(vector(1, 2))
    })

    test('texts of a cycle are stored with it, or not at all', async () => {
      const store = await newStore()
      const texts = (value: number) => ({ encoder, entries: [{ key: bytesOf(7), vector: vector(value) }] })
      await store.appendCycle(cycleSample(1, { texts: texts(1) }))
      expect(store.models.readEmbedding(encoder, bytesOf(7))).toEqual(vector(1))
      await expect(store.appendCycle(cycleSample(1, { texts: texts(2) }))).rejects.toMatchObject({
        code: 'exists',
      })
      expect(store.models.readEmbedding(encoder, bytesOf(7))).toEqual(vector(1))
    })

    test('scores of shadows are told apart by cycle and by version', async () => {
      const { models } = await newStore()
      await models.putShadowScores(1, '모델 \ud800', bytesOf(1))
      await models.putShadowScores(1, 'm', bytesOf(2))
      await models.putShadowScores(256, 'm', bytesOf(3))
      await models.putShadowScores(256, 'm', bytesOf(4))
      expect(models.readShadowScores(1, '모델 \ud800')).toEqual(bytesOf(1))
      expect(models.readShadowScores(1, 'm')).toEqual(bytesOf(2))
      expect(models.readShadowScores(256, 'm')).toEqual(bytesOf(4))
      expect(models.readShadowScores(256, 'M')).toBeUndefined()
      expect(models.readShadowScores(2, 'm')).toBeUndefined()
    })

    test('a version is tied to the files that claimed it first, whoever asks at once', async () => {
      const { models } = await newStore()
      const claims = ['one', 'two', 'one'].map((identity) => models.claimVersion('m', identity))
      expect(await Promise.all(claims)).toEqual(['one', 'one', 'one'])
      expect(await models.claimVersion('n', 'two')).toBe('two')
      expect(models.readIdentity('m')).toBe('one')
      expect(models.readIdentity('n')).toBe('two')
    })
  })

  describe('weights and outcomes', () => {
    test('weights come back in the order in which they were set, equal versions too', async () => {
      const store = await newStore()
      const entries = [weightsSample('a', 0.1), weightsSample('b', 1e-300), weightsSample('a', 0.1)]
      await Promise.all(entries.map((entry) => store.appendWeights(entry)))
      expect(store.listWeights()).toEqual(entries)
    })

    test('an outcome is created once and then updated whole, within one call too', async () => {
      const store = await newStore()
      const outcome = (placementId: string, value: number) => ({ placementId, record: bytesOf(value) })
      expect(await store.putOutcomes([])).toEqual({ created: 0, updated: 0 })
      expect(await store.putOutcomes([outcome('p', 1), outcome('q', 2), outcome('p', 3)])).toEqual({
        created: 2,
        updated: 1,
      })
      expect(store.readOutcome('p')).toEqual(bytesOf(3))
      expect(await store.putOutcomes([outcome('q', 4), outcome('r', 5)])).toEqual({ created: 1, updated: 1 })
      expect(store.readOutcome('q')).toEqual(bytesOf(4))
    })

    test('concurrent calls count each placement as created once', async () => {
      const store = await newStore()
      const entries = Array.from({ length: 50 }, (_, index) => ({
        placementId: `${index}-${'긴'.repeat(2000)}`,
        record: bytesOf(index),
      }))
      const results = await Promise.all(Array.from({ length: 4 }, () => store.putOutcomes(entries)))
      expect(results.reduce((sum, result) => sum + result.created, 0)).toBe(50)
      expect(results.reduce((sum, result) => sum + result.updated, 0)).toBe(150)
      for (const { placementId, record } of entries) expect(store.readOutcome(placementId)).toEqual(record)
    })
  })

  test('close waits for writes under way, and no call is allowed after it', async () => {
    const store = await newStore()
    const written = store.appendCycle(cycleSample(1))
    await store.close()
    expect(await written).toBe(1)
    const closed = expect.objectContaining({ code: 'closed' }) as StoreError
    await expect(store.appendCycle(cycleSample(2))).rejects.toEqual(closed)
    await expect(store.putImage({ gallId: 'g', postNo: 1, position: 1 }, imageSample(1))).rejects.toEqual(
      closed,
    )
    expect(() => store.readPool()).toThrow(closed)
    expect(() => store.lastCycle()).toThrow(closed)
    expect(() => store.findCycle(cycleIdAt(1))).toThrow(closed)
    expect(() => [...store.tail(1)]).toThrow(closed)
    expect(() => [...store.imageKeys()]).toThrow(closed)
    await store.close()
  })

  test('any sequence of writes leaves what a plain list and a plain map would hold', async () => {
    const write = fc.oneof(
      fc.record({ kind: fc.constant('cycle' as const), number: fc.nat(9), bytes: fc.uint8Array() }),
      fc.record({ kind: fc.constant('image' as const), number: fc.nat(4), sample: fc.nat(2) }),
      fc.record({
        kind: fc.constant('outcome' as const),
        id: fc.string({ unit: 'binary', maxLength: 2 }),
        bytes: fc.uint8Array(),
      }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(write, { maxLength: 5 }), { maxLength: 8 }), async (turns) => {
        const store = await newStore()
        const cycles: [id: string, bytes: Uint8Array][] = []
        const images = new Map<number, number>()
        const outcomes = new Map<string, Uint8Array>()
        for (const turn of turns) {
          const done = turn.map(async (step) => {
            if (step.kind === 'cycle') {
              const cycle = cycleSample(step.number, { pool: step.bytes, response: step.bytes })
              const fresh = !cycles.some(([id]) => id === cycle.cycleId)
              if (fresh) cycles.push([cycle.cycleId, step.bytes])
              const expected = fresh ? cycles.length : 'exists'
              const given = store.appendCycle(cycle)
              expect(await given.catch((error: unknown) => (error as StoreError).code)).toBe(expected)
            } else if (step.kind === 'image') {
              const stored = images.get(step.number)
              if (stored === undefined) images.set(step.number, step.sample)
              const expected =
                stored === undefined ? 'created' : stored === step.sample ? 'same' : 'different'
              const key = { gallId: 'g', postNo: step.number + 1, position: 1 }
              expect(await store.putImage(key, imageSample(step.sample))).toBe(expected)
            } else {
              const created = outcomes.has(step.id) ? 0 : 1
              outcomes.set(step.id, step.bytes)
              const given = store.putOutcomes([{ placementId: step.id, record: step.bytes }])
              expect(await given).toEqual({ created, updated: 1 - created })
            }
          })
          await Promise.all(done)
        }
        expect([...store.tail(1)].map(({ cycleId }) => cycleId)).toEqual(cycles.map(([id]) => id))
        for (const [id, bytes] of cycles) expect(store.readResponse(id)).toEqual(bytes)
        expect(store.readPool()).toEqual(cycles.at(-1)?.[1])
        expect([...store.imageKeys()]).toHaveLength(images.size)
        for (const [id, bytes] of outcomes) expect(store.readOutcome(id)).toEqual(bytes)
      }),
      { numRuns: 30 },
    )
  })
})

describe('memory store with faults', () => {
  test('a write that fails changes nothing, and a later try works', async () => {
    let failing = true
    const store = createMemoryStore({
      beforeWrite: (operation) => {
        if (failing && operation === 'appendCycle') throw new StoreError('full', 'no room')
      },
    })
    await expect(store.appendCycle(cycleSample(1))).rejects.toMatchObject({ code: 'full' })
    expect(await store.putImage({ gallId: 'g', postNo: 1, position: 1 }, imageSample(1))).toBe('created')
    expect(store.lastCycle()).toBeUndefined()
    failing = false
    expect(await store.appendCycle(cycleSample(1))).toBe(1)
  })
})
