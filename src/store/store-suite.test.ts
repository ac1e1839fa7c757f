/**
 * What every store must hold, run over each implementation: cycles, and whole sequences of writes. store-records.test.ts
 * has the other records, lmdb-store.test.ts what is LMDB's alone.
 */
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../test/helpers/memory-store.js'
import '../../test/helpers/poisoned-store.js'
import { storeImplementations } from '../../test/helpers/store-implementations.js'
import {
  bytesOf,
  cycleIdAt,
  cycleSample,
  imageSample,
  largeCycleSample,
  weightsSample,
} from '../../test/helpers/store-samples.js'
import { StoreError, type CycleContents } from './index.js'

describe.each(Object.entries(storeImplementations))('%s', (_, newStore) => {
  describe('cycles', () => {
    test('a new store has nothing', async () => {
      const store = await newStore()
      expect(store.lastCycle()).toBeUndefined()
      expect(store.findCycle(cycleIdAt(1))).toBeUndefined()
      expect(store.readResponse(cycleIdAt(1))).toBeUndefined()
      expect(store.readRequest(1)).toBeUndefined()
      expect(store.savedPools()).toEqual([])
      expect(store.readSavedPool(1)).toBeUndefined()
      expect([...store.tail(0), ...store.imageKeys(), ...store.listWeights()]).toEqual([])
      expect(store.readOutcome('p')).toBeUndefined()
    })

    test('a cycle is read as it was stored', async () => {
      const store = await newStore()
      const cycle = cycleSample(1, { record: bytesOf(6, 7) })
      expect(await store.appendCycle(cycle)).toBe(1)
      const { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion } = cycle
      const header = { position: 1, cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion }
      expect(store.findCycle(cycleId)).toEqual(header)
      expect(store.lastCycle()).toEqual(header)
      expect(store.readRequest(1)).toEqual(cycle.request)
      expect(store.readResponse(cycleId)).toEqual(cycle.response)
      expect(store.readRecord(1)).toEqual(cycle.record)
      expect([...store.recordedCycles()]).toEqual([header])
    })

    test('the hash of a cycle depends on the cycle before it and on each of its own records', async () => {
      const hashes = async (...cycles: readonly CycleContents[]): Promise<string[]> => {
        const store = await newStore()
        for (const cycle of cycles) await store.appendCycle(cycle)
        return cycles.map((_, index) => store.hashes(index + 1)?.hash ?? '')
      }
      const [one, two] = [cycleSample(1), cycleSample(2)]
      const expected = await hashes(one, two)
      expect(await hashes(one, two)).toEqual(expected)
      for (const change of [
        { record: bytesOf(9) },
        { responseSha256: hash('sha256', bytesOf(9)) },
        { requestSha256: hash('sha256', bytesOf(9)) },
        { modelVersion: 'other' },
      ]) {
        const changedHashes = await hashes({ ...one, ...change }, two)
        expect(changedHashes[0]).not.toBe(expected[0])
        expect(changedHashes[1]).not.toBe(expected[1])
        expect((await hashes(one, { ...two, ...change }))[0]).toBe(expected[0])
      }
      const zeros = '0'.repeat(64)
      const lines = (before: string, cycle: CycleContents): string[] => [
        before,
        cycle.requestSha256,
        cycle.responseSha256,
        hash('sha256', Buffer.concat([labelsOf(cycle), cycle.record])),
        zeros,
        zeros,
      ]
      expect(expected[0]).toBe(hash('sha256', `${lines(zeros, one).join('\n')}\n`))
      expect(expected[1]).toBe(hash('sha256', `${lines(expected[0] ?? '', two).join('\n')}\n`))
    })

    test('the hash of a cycle covers the weights and the identity of the model that scored it, by value', async () => {
      const hashOf = async (views: number, identity: string, later?: string): Promise<string | undefined> => {
        const store = await newStore()
        await store.appendWeights(1, weightsSample('initial', views))
        if (later !== undefined) await store.appendWeights(2, weightsSample(later, 0.9))
        await store.models.claimVersion('model-1', identity)
        await store.appendCycle(cycleSample(1))
        return store.hashes(1)?.hash
      }
      const hashes = [await hashOf(0.5, 'files'), await hashOf(0.6, 'files'), await hashOf(0.5, 'others')]
      expect(new Set(hashes).size).toBe(3)
      expect(await hashOf(0.5, 'files')).toBe(hashes[0])
      expect(await hashOf(0.5, 'files', 'another version')).toBe(hashes[0])
    })

    test('cycles that are stored at the same time have the hashes of cycles stored one after the other', async () => {
      const [together, single] = [await newStore(), await newStore()]
      const numbers = [1, 2, 3, 4]
      await Promise.all(numbers.map((number) => together.appendCycle(cycleSample(number))))
      for (const number of numbers) await single.appendCycle(cycleSample(number))
      expect(numbers.map((position) => together.hashes(position))).toEqual(
        numbers.map((position) => single.hashes(position)),
      )
    })

    test('an expiry is a link of the chain, which goes on from the last cycle whose record has expired', async () => {
      const store = await newStore()
      for (const number of [1, 2, 3]) await store.appendCycle(cycleSample(number))
      expect(store.chainStart()).toEqual({ position: 0, hash: '0'.repeat(64) })
      const [second, third] = [store.hashes(2)!.hash, store.hashes(3)!.hash]
      expect(store.chainHead()).toEqual({ position: 3, hash: third, expiry: null })
      await store.savePool(3, bytesOf(1))
      await store.expiry.removeCycles([1, 2].map((position) => ({ position, keepEntry: false })))
      await store.expiry.removeRecords([1, 2])
      await expect(store.appendCycle(cycleSample(9, { position: 1 }))).rejects.toMatchObject({
        code: 'failed',
      })
      expect(store.chainStart()).toEqual({ position: 2, hash: second })
      const responses = hash('sha256', `${third}\nresponses through 2\n`)
      const both = hash('sha256', `${responses}\nrecords through 2\n`)
      expect([...store.chainLinks()]).toEqual([
        { position: 3, hash: third, expiry: null },
        { position: 3, hash: responses, expiry: { ended: 'responses', through: 2 } },
        { position: 3, hash: both, expiry: { ended: 'records', through: 2 } },
      ])
      const fourth = cycleSample(4)
      await store.appendCycle(fourth)
      const record = hash('sha256', Buffer.concat([labelsOf(fourth), fourth.record]))
      const zeros = '0'.repeat(64)
      const lines = [both, fourth.requestSha256, fourth.responseSha256, record, zeros, zeros]
      expect(store.hashes(4)?.hash).toBe(hash('sha256', `${lines.join('\n')}\n`))
      expect([0, 1, 5].map((position) => store.hashes(position))).toEqual(Array(3).fill(undefined))
      expect(store.chainHead()?.position).toBe(4)
    })

    test('cycles are read from any position on, at most from the first one that has not expired', async () => {
      const store = await newStore()
      for (const number of [1, 2, 3, 4]) await store.appendCycle(cycleSample(number))
      await store.savePool(4, bytesOf(1))
      await store.expiry.removeCycles([1, 2].map((position) => ({ position, keepEntry: false })))
      const from = (first: number) => [...store.tail(first)].map(({ position }) => position)
      expect([0, 1, 2, 3, 4, 5].map(from)).toEqual([[3, 4], [3, 4], [3, 4], [3, 4], [4], []])
      const found = [1, 2, 3, 4].map((number) => store.findCycle(cycleIdAt(number))?.position)
      expect(found).toEqual([undefined, undefined, 3, 4])
    })

    test('labels may hold any text, lone surrogates too', async () => {
      const store = await newStore()
      const labels = { modelVersion: '모델 "7"\u0000\ud800', weightsVersion: '가중치\udfff', receivedAt: '' }
      await store.appendCycle(cycleSample(1, labels))
      expect(store.lastCycle()).toMatchObject(labels)
    })

    test('positions count 1, 2, 3 in order of arrival, whatever the cycle ids are', async () => {
      const store = await newStore()
      const numbers = [5, 3, 9, 1]
      const positions = await Promise.all(numbers.map((number) => store.appendCycle(cycleSample(number))))
      expect(positions).toEqual([1, 2, 3, 4])
      expect([...store.tail(1)].map((cycle) => cycle.cycleId)).toEqual(numbers.map(cycleIdAt))
      expect([...store.tail(3)].map((cycle) => cycle.position)).toEqual([3, 4])
      expect([...store.tail(5)]).toEqual([])
      expect(store.lastCycle()?.cycleId).toBe(cycleIdAt(1))
    })

    test('a saved pool replaces the others but the one that is to be kept', async () => {
      const store = await newStore()
      for (const number of [1, 2, 3, 4]) await store.appendCycle(cycleSample(number))
      for (const [position, kept] of [
        [1, 0],
        [2, 1],
        [3, 1],
        [4, 3],
      ] as const)
        await store.savePool(position, bytesOf(position), kept)
      expect(store.savedPools()).toEqual([4, 3])
      expect([1, 3, 4].map((position) => store.readSavedPool(position))).toEqual([
        undefined,
        bytesOf(3),
        bytesOf(4),
      ])
      await store.savePool(4, bytesOf(5), 4)
      expect(store.savedPools()).toEqual([4])
      expect(store.readSavedPool(4)).toEqual(bytesOf(5))
    })

    test('a saved pool without its cycle is refused', async () => {
      const store = await newStore()
      await store.appendCycle(cycleSample(1))
      await store.savePool(1, bytesOf(1))
      await expect(store.savePool(2, bytesOf(2))).rejects.toThrow('has its cycle')
      expect(store.savedPools()).toEqual([1])
    })

    test('a cycle that no saved pool contains cannot expire', async () => {
      const store = await newStore()
      for (const number of [1, 2, 3]) await store.appendCycle(cycleSample(number))
      await store.savePool(1, bytesOf(1))
      const cycles = [1, 2].map((position) => ({ position, keepEntry: false }))
      await expect(store.expiry.removeCycles(cycles.slice(1))).rejects.toThrow('contains each cycle')
      await store.expiry.removeCycles(cycles.slice(0, 1))
      expect(store.expiry.firstPosition()).toBe(2)
    })

    test('a stored cycle id is refused, and nothing of the second cycle is stored', async () => {
      const store = await newStore()
      const first = cycleSample(1)
      await store.appendCycle(first)
      const second = cycleSample(1, { response: bytesOf(9), modelVersion: 'other' })
      await expect(store.appendCycle(second)).rejects.toMatchObject({ code: 'exists' })
      expect(store.readResponse(first.cycleId)).toEqual(first.response)
      expect([...store.tail(1)]).toHaveLength(1)
      expect(await store.appendCycle(cycleSample(2))).toBe(2)
    })

    test('a cycle that was planned for another position is refused, and stored at the free one', async () => {
      const store = await newStore()
      await expect(store.appendCycle(cycleSample(1, { position: 2 }))).rejects.toMatchObject({
        code: 'failed',
      })
      await store.appendCycle(cycleSample(1, { position: 1 }))
      for (const position of [1, 3])
        await expect(store.appendCycle(cycleSample(2, { position }))).rejects.toMatchObject({
          code: 'failed',
        })
      expect([...store.tail(1)]).toHaveLength(1)
      expect(await store.appendCycle(cycleSample(2, { position: 2 }))).toBe(2)
    })

    test('of two concurrent cycles with one id, one is stored, and no position is skipped', async () => {
      const store = await newStore()
      const samples = [cycleSample(1), cycleSample(1, { response: bytesOf(7) }), cycleSample(2)]
      const results = await Promise.allSettled(samples.map((sample) => store.appendCycle(sample)))
      expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect([...store.tail(1)].map((cycle) => cycle.cycleId)).toEqual([cycleIdAt(1), cycleIdAt(2)])
    })

    test('bytes of a cycle are free for reuse when it is stored, others as soon as a call has returned', async () => {
      const store = await newStore()
      const cycle = largeCycleSample(1, 20_000)
      const expected = structuredClone(cycle)
      await store.appendCycle(cycle)
      const { request, response, record } = cycle
      for (const bytes of [request.bytes, response, record]) bytes.fill(0)
      const pool = bytesOf(1, 2, 3)
      const saved = store.savePool(1, pool)
      pool.fill(0)
      await saved
      expect(store.readRequest(1)).toEqual(expected.request)
      expect(store.readResponse(cycle.cycleId)).toEqual(expected.response)
      expect(store.readRecord(1)).toEqual(expected.record)
      expect(store.readSavedPool(1)).toEqual(bytesOf(1, 2, 3))
    })

    test('each reader of a response receives a copy', async () => {
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

    test('cycles of any sizes, sequential and concurrent, do not overwrite each other', async () => {
      const store = await newStore()
      const sizes = [0, 1, 4095, 4096, 20_000, 7, 200_000, 12, 20_000, 1, 0]
      const samples = sizes.map((bytes, number) => largeCycleSample(number, bytes))
      for (const sample of samples.slice(0, 6)) await store.appendCycle(sample)
      await Promise.all(samples.slice(6).map((sample) => store.appendCycle(sample)))
      for (const [index, sample] of samples.entries()) {
        expect(store.readRequest(index + 1)).toEqual(sample.request)
        expect(store.readResponse(sample.cycleId)).toEqual(sample.response)
        expect(store.readRecord(index + 1)).toEqual(sample.record)
      }
    })

    test('bytes that were read do not change with later reads and writes', async () => {
      const store = await newStore()
      const large = new Uint8Array(300_000).fill(1)
      await store.appendCycle(cycleSample(1))
      await store.savePool(1, large)
      const pool = store.readSavedPool(1)
      await store.savePool(1, new Uint8Array(300_000).fill(2))
      const later = store.readSavedPool(1)
      later?.fill(3)
      expect(pool).toEqual(large)
      expect(store.readSavedPool(1)?.[0]).toBe(2)
    })

    test('a record is read aligned to eight bytes', async () => {
      const store = await newStore()
      for (const [index, count] of [1, 3, 5000, 100_000].entries()) {
        const record = new Uint8Array(new Float64Array(count).fill(Math.PI).buffer)
        await store.appendCycle(cycleSample(index, { record }))
        expect(store.readRecord(index + 1)!.byteOffset % 8).toBe(0)
      }
    })
  })

  test('close waits for writes in progress, and no call is allowed after it', async () => {
    const store = await newStore()
    const written = store.appendCycle(cycleSample(1))
    await store.close()
    expect(await written).toBe(1)
    const closed = expect.objectContaining({ code: 'closed' }) as StoreError
    await expect(store.appendCycle(cycleSample(2))).rejects.toEqual(closed)
    await expect(store.putImage({ gallId: 'g', postNo: 1, position: 1 }, imageSample(1))).rejects.toEqual(
      closed,
    )
    expect(() => store.savedPools()).toThrow(closed)
    expect(() => store.readSavedPool(1)).toThrow(closed)
    expect(() => store.lastCycle()).toThrow(closed)
    expect(() => store.findCycle(cycleIdAt(1))).toThrow(closed)
    expect(() => [...store.tail(1)]).toThrow(closed)
    expect(() => [...store.imageKeys()]).toThrow(closed)
    await store.close()
  })

  test('any sequence of writes has the result of a plain list and a plain map', async () => {
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
              const cycle = cycleSample(step.number, { response: step.bytes })
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
              const given = store.putOutcomes([{ placementId: step.id, record: step.bytes, arrivedAtMs: 0 }])
              expect(await given).toEqual({ created, updated: 1 - created })
            }
          })
          await Promise.all(done)
        }
        expect([...store.tail(1)].map(({ cycleId }) => cycleId)).toEqual(cycles.map(([id]) => id))
        for (const [id, bytes] of cycles) expect(store.readResponse(id)).toEqual(bytes)
        expect([...store.imageKeys()]).toHaveLength(images.size)
        for (const [id, bytes] of outcomes) expect(store.readOutcome(id)).toEqual(bytes)
      }),
      { numRuns: 30 },
    )
  })
})

describe('memory store with faults', () => {
  test('a write that fails changes nothing, and a later attempt succeeds', async () => {
    let failing = true
    const store = memoryStore({
      beforeWrite: (changes) => {
        if (failing && changes.some(({ kind }) => kind === 'cycles')) throw new StoreError('full', 'no room')
      },
    })
    await expect(store.appendCycle(cycleSample(1))).rejects.toMatchObject({ code: 'full' })
    expect(await store.putImage({ gallId: 'g', postNo: 1, position: 1 }, imageSample(1))).toBe('created')
    expect(store.lastCycle()).toBeUndefined()
    failing = false
    expect(await store.appendCycle(cycleSample(1))).toBe(1)
  })
})

/** The labels of a cycle as docs/data.md describes them. */
function labelsOf(cycle: CycleContents): Buffer {
  return Buffer.from(
    JSON.stringify({
      cycle_id: cycle.cycleId,
      cycle_at_ms: cycle.cycleAtMs,
      received_at: cycle.receivedAt,
      model_version: cycle.modelVersion,
      weights_version: cycle.weightsVersion,
    }),
  )
}
