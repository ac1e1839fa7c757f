/**
 * What every store must hold of images, of records of models, of weights and of outcomes, run over each implementation.
 */
import { describe, expect, test } from 'vitest'
import { hourMs, nextTurn } from '../base/index.js'
import '../../test/helpers/poisoned-store.js'
import { storeImplementations } from '../../test/helpers/store-implementations.js'
import { bytesOf, cycleSample, imageSample, weightsSample } from '../../test/helpers/store-samples.js'
import type { ImageKey, Store } from './index.js'

function arrivalOf(store: Store, key: ImageKey): number | null | undefined {
  const isSameImage = (row: { readonly key: ImageKey }): boolean =>
    JSON.stringify(Object.entries(row.key).sort()) === JSON.stringify(Object.entries(key).sort())
  return store.expiry.imagesAfter(null, 1000).rows.find(isSameImage)?.arrivedAtMs
}

describe.each(Object.entries(storeImplementations))('%s', (_, newStore) => {
  describe('images', () => {
    const key = { gallId: 'baseball', postNo: 7, position: 1 }

    test('an image is read as it was stored', async () => {
      const store = await newStore()
      const image = imageSample(1)
      expect(await store.putImage(key, image)).toBe('created')
      expect(store.findImage(key)).toEqual(image)
      expect(store.findImage({ ...key, position: 2 })).toBeUndefined()
    })

    test('a repeated upload is reported as the same, another one as different, and the first is kept', async () => {
      const store = await newStore()
      await store.putImage(key, imageSample(1))
      expect(await store.putImage(key, imageSample(1))).toBe('same')
      expect(await store.putImage(key, imageSample(2))).toBe('different')
      expect(store.findImage(key)).toEqual(imageSample(1))
    })

    test('a repeated upload updates the arrival time after an hour; a different image changes nothing', async () => {
      const store = await newStore()
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

    test('an image that is stored again as it was read arrives now', async () => {
      const store = await newStore()
      await store.putImage(key, { ...imageSample(1), arrivedAtMs: 1000 })
      const image = store.findImage(key) ?? expect.fail('it is not there')
      expect(image).toEqual(imageSample(1))
      const beforeMs = Date.now()
      expect(await store.putImage(key, image)).toBe('same')
      // Kept in whole seconds.
      expect(arrivalOf(store, key)).toBeGreaterThan(beforeMs - 1000)
    })

    test('an image that arrives again after it was read as expired is not removed', async () => {
      const store = await newStore()
      await store.putImage(key, { ...imageSample(1), arrivedAtMs: 0 })
      const { rows } = store.expiry.imagesAfter(null, 10)
      expect(await store.putImage(key, imageSample(1))).toBe('same')
      expect(await store.expiry.removeImages(rows)).toEqual([])
      expect(store.findImage(key)).toEqual(imageSample(1))
      expect(await store.expiry.removeImages(store.expiry.imagesAfter(null, 10).rows)).toEqual([key])
      expect(store.findImage(key)).toBeUndefined()
    })

    test('an image is confirmed by its hash, and then has arrived now; another hash or key confirms nothing', async () => {
      const store = await newStore()
      const { sha256 } = imageSample(1)
      expect(await store.confirmImage(key, sha256)).toBe(false)
      await store.putImage(key, { ...imageSample(1), arrivedAtMs: 1000 })
      expect(await store.confirmImage({ ...key, position: 2 }, sha256)).toBe(false)
      expect(await store.confirmImage(key, imageSample(2).sha256)).toBe(false)
      expect(arrivalOf(store, key)).toBe(1000)
      const beforeMs = Date.now()
      for (let time = 0; time < 2; time++) expect(await store.confirmImage(key, sha256)).toBe(true)
      expect(arrivalOf(store, key)).toBeGreaterThan(beforeMs - 1000)
      expect(store.findImage(key)).toEqual(imageSample(1))
    })

    test('an image that is removed while it is confirmed is not confirmed, and nothing of it stays', async () => {
      const store = await newStore()
      const { sha256 } = imageSample(1)
      await store.putImage(key, { ...imageSample(1), arrivedAtMs: 1000 })
      const removing = store.expiry.removeImages(store.expiry.imagesAfter(null, 10).rows)
      const confirming = store.confirmImage(key, sha256)
      expect([await removing, await confirming]).toEqual([[key], false])
      expect(store.findImage(key)).toBeUndefined()
      expect([...store.imageKeys()]).toEqual([])
    })

    test('an image that is replaced while it is confirmed is not confirmed, and the other one stays', async () => {
      const store = await newStore()
      await store.putImage(key, { ...imageSample(1), arrivedAtMs: 1000 })
      const removing = store.expiry.removeImages(store.expiry.imagesAfter(null, 10).rows)
      // An upload under the same key looks before it writes: it finds the key free if the removal comes first.
      const replacing = store.putImage(key, { ...imageSample(2), arrivedAtMs: 2000 })
      const confirming = store.confirmImage(key, imageSample(1).sha256)
      expect([await removing, await replacing, await confirming]).toEqual([[key], 'created', false])
      expect(store.findImage(key)).toEqual(imageSample(2))
      expect(arrivalOf(store, key)).toBe(2000)
    })

    test('the images of a post are listed by position, without those of other posts', async () => {
      const store = await newStore()
      for (const { gallId, postNo, position } of [
        { ...key, position: 12 },
        { ...key, position: 3 },
        { ...key, postNo: key.postNo - 1 },
        { ...key, postNo: key.postNo + 1 },
        { ...key, gallId: 'basketball' },
      ])
        await store.putImage({ gallId, postNo, position }, imageSample(position))
      expect(store.imagePositions(key.gallId, key.postNo)).toEqual([3, 12])
      expect(store.imagePositions(key.gallId, key.postNo + 1)).toEqual([1])
      expect(store.imagePositions(key.gallId, key.postNo + 2)).toEqual([])
    })

    test('of many concurrent uploads to one key, exactly one is created', async () => {
      const store = await newStore()
      const samples = [1, 1, 1, 1, 2, 2, 2, 2]
      const results = await Promise.all(samples.map((sample) => store.putImage(key, imageSample(sample))))
      expect(results).toEqual(['created', 'same', 'same', 'same', ...Array<string>(4).fill('different')])
    })

    test('the hash of an image is read without its bytes, and of none if there is none', async () => {
      const store = await newStore()
      const key = { gallId: 'g', postNo: 1, position: 2 }
      await store.putImage(key, imageSample(3))
      expect(store.readImageHash(key)).toEqual(imageSample(3).sha256)
      expect(store.readImageHash({ ...key, position: 1 })).toBeUndefined()
      expect(store.readImageHash({ ...key, gallId: 'h' })).toBeUndefined()
    })

    test('similar keys do not collide, and all of them are listed', async () => {
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

  describe('records of models', () => {
    const encoder = 'a'.repeat(64)
    const otherEncoder = `${'a'.repeat(31)}b${'a'.repeat(32)}`
    const vector = (...values: readonly number[]) => Float32Array.from(values)

    test('a new store has nothing', async () => {
      const { models } = await newStore()
      expect(models.readEmbedding(encoder, bytesOf(1))).toBeUndefined()
      expect(models.readShadowScores(1, 'm')).toBeUndefined()
      expect(models.readIdentity('m')).toBeUndefined()
    })

    test('a vector is read bit for bit, only under its encoder and its key', async () => {
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

    test('the vectors of the texts of a cycle leave with its entry, and those of images stay', async () => {
      const store = await newStore()
      const { models, expiry } = store
      const textOf = (position: number) => bytesOf(0, 0, 0, position, 0, 0, 0, 3)
      // The hash of an image may begin with the position of a cycle.
      const imageHash = new Uint8Array(32).fill(9).fill(0, 0, 3).fill(1, 3, 4)
      const keys = [textOf(1), imageHash, textOf(2)]
      await models.putEmbeddings(
        encoder,
        keys.map((key) => ({ key, vector: vector(1) })),
      )
      await expiry.removeEntries([1])
      expect(keys.map((key) => models.readEmbedding(encoder, key))).toEqual([undefined, vector(1), vector(1)])
    })

    test('with the entry of a cycle, and with the last image of some bytes, the vectors of every encoder leave', async () => {
      const store = await newStore()
      const { models, expiry } = store
      const encoders = [encoder, otherEncoder, 'f'.repeat(64)]
      const text = bytesOf(0, 0, 0, 1, 0, 0, 0, 3)
      const image = imageSample(1)
      const images = [1, 2].map((position) => ({ gallId: 'g', postNo: 1, position }))
      for (const each of images) await store.putImage(each, image)
      for (const each of encoders)
        await models.putEmbeddings(
          each,
          [text, image.sha256].map((key) => ({ key, vector: vector(1) })),
        )
      const known = (key: Uint8Array) => encoders.map((each) => models.readEmbedding(each, key) !== undefined)
      await expiry.removeEntries([1])
      expect(known(text)).toEqual([false, false, false])
      for (const [index, expected] of [true, false].entries()) {
        const { rows } = expiry.imagesAfter(null, 10)
        await expiry.removeImages(rows.slice(0, 1))
        expect(rows).toHaveLength(2 - index)
        expect(known(image.sha256)).toEqual([expected, expected, expected])
      }
    })

    test('a vector that is stored again replaces the previous one', async () => {
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

    test('scores of shadows are stored by cycle and by version', async () => {
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

    test('a version belongs to the files that claimed it first, also among concurrent calls', async () => {
      const { models } = await newStore()
      const claims = ['one', 'two', 'one'].map((identity) => models.claimVersion('m', identity))
      expect(await Promise.all(claims)).toEqual(['one', 'one', 'one'])
      expect(await models.claimVersion('n', 'two')).toBe('two')
      expect(models.readIdentity('m')).toBe('one')
      expect(models.readIdentity('n')).toBe('two')
    })
  })

  describe('weights and outcomes', () => {
    test('weights are read in the order in which they were set, equal versions too', async () => {
      const store = await newStore()
      const entries = [weightsSample('a', 0.1), weightsSample('b', 1e-300), weightsSample('a', 0.1)]
      await Promise.all(entries.map((entry, index) => store.appendWeights(index + 1, entry)))
      expect([...store.listWeights()]).toEqual(entries)
    })

    test('weights that follow another history are refused', async () => {
      const store = await newStore()
      const [first, second] = [weightsSample('a', 0.1), weightsSample('b', 0.2)]
      await store.appendWeights(1, first)
      for (const number of [0, 1, 3])
        await expect(store.appendWeights(number, second)).rejects.toMatchObject({ code: 'failed' })
      expect([...store.listWeights()]).toEqual([first])
      await store.appendWeights(2, second)
      expect([...store.listWeights()]).toEqual([first, second])
    })

    test('an outcome is created once and then replaced, within one call too', async () => {
      const store = await newStore()
      const outcome = (placementId: string, value: number) => ({
        placementId,
        record: bytesOf(value),
        arrivedAtMs: 0,
      })
      expect(await store.putOutcomes([])).toEqual({ created: 0, updated: 0 })
      expect(await store.putOutcomes([outcome('p', 1), outcome('q', 2), outcome('p', 3)])).toEqual({
        created: 2,
        updated: 1,
      })
      expect(store.readOutcome('p')).toEqual(bytesOf(3))
      expect(await store.putOutcomes([outcome('q', 4), outcome('r', 5)])).toEqual({ created: 1, updated: 1 })
      expect(store.readOutcome('q')).toEqual(bytesOf(4))
    })

    test.each([
      ['later', { arrivedAtMs: 60_000 }],
      ['with other contents in the same second', { record: bytesOf(2) }],
    ])('an outcome that arrives again %s after it was read as expired is not removed', async (_, again) => {
      const store = await newStore()
      const outcome = { placementId: 'p', record: bytesOf(1), arrivedAtMs: 0 }
      await store.putOutcomes([outcome])
      const { rows } = store.expiry.outcomesAfter(null, 10)
      await store.putOutcomes([{ ...outcome, ...again }])
      await store.expiry.removeOutcomes(rows)
      expect([...store.outcomes()]).toEqual([{ ...outcome, ...again }])
      await store.expiry.removeOutcomes(store.expiry.outcomesAfter(null, 10).rows)
      expect([...store.outcomes()]).toEqual([])
    })

    test('and what else a range has stays as it was read', async () => {
      const store = await newStore()
      const outcome = { placementId: 'p', record: bytesOf(1, 2, 3), arrivedAtMs: 1000 }
      const image = { gallId: 'g', postNo: 1, position: 1 }
      await store.putOutcomes([outcome])
      await store.putImage(image, { ...imageSample(1), arrivedAtMs: 1000 })
      const ranges = (): unknown[] => [
        store.expiry.outcomesAfter(null, 10).rows,
        [...store.outcomes()],
        store.expiry.imagesAfter(null, 10).rows,
        [...store.imageKeys()],
      ]
      const read = ranges()
      // Lent memory is poisoned by then.
      await nextTurn()
      await nextTurn()
      expect(read).toEqual([[outcome], [outcome], [{ key: image, arrivedAtMs: 1000 }], [image]])
    })

    test('concurrent calls count each placement as created once', async () => {
      const store = await newStore()
      const entries = Array.from({ length: 50 }, (_, index) => ({
        placementId: `${index}-${'긴'.repeat(2000)}`,
        arrivedAtMs: 0,
        record: bytesOf(index),
      }))
      const results = await Promise.all(Array.from({ length: 4 }, () => store.putOutcomes(entries)))
      expect(results.reduce((sum, result) => sum + result.created, 0)).toBe(50)
      expect(results.reduce((sum, result) => sum + result.updated, 0)).toBe(150)
      for (const { placementId, record } of entries) expect(store.readOutcome(placementId)).toEqual(record)
    })
  })
})
