/** Tombstones against a plain map of times, and what they take. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Tombstones, tombstoneAgeMsMax, type KeyList } from './tombstones.js'

const galleries = ['a', 'b', 'c']
/** Small ones, ones that differ from them in the upper half only, and the greatest. */
const postNos = Array.from({ length: 40 }, (_, i) => i + 1)
  .flatMap((low) => [low, 2 ** 32 + low])
  .concat(Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER)

const keyList: fc.Arbitrary<KeyList> = fc
  .record({
    galleries: fc.shuffledSubarray(galleries, { minLength: 1 }),
    keys: fc.array(fc.tuple(fc.nat(), fc.constantFrom(...postNos)), { maxLength: 60 }),
  })
  .map(({ galleries: ids, keys }) => ({
    galleries: ids,
    gallery: Uint32Array.from(keys, ([code]) => code % ids.length),
    postNo: Float64Array.from(keys, ([, postNo]) => postNo),
  }))

const step = fc.record({
  does: fc.constantFrom('bury', 'bury', 'revive'),
  keys: keyList,
  laterMs: fc.constantFrom(0, 1, tombstoneAgeMsMax / 3, tombstoneAgeMsMax - 1, tombstoneAgeMsMax + 1),
})

/** The rules without arrays: when each post left. */
class NaiveTombstones {
  readonly #leftAtMs = new Map<string, number>()

  get galleryCount(): number {
    return new Set(Array.from(this.#leftAtMs.keys(), (key) => key.split('/')[0])).size
  }

  has(gallId: string, postNo: number): boolean {
    return this.#leftAtMs.has(`${gallId}/${postNo}`)
  }

  bury(keys: KeyList, leftAtMs: number): void {
    for (const key of named(keys)) this.#leftAtMs.set(key, leftAtMs)
    for (const [key, atMs] of this.#leftAtMs)
      if (atMs < leftAtMs - tombstoneAgeMsMax) this.#leftAtMs.delete(key)
  }

  revive(keys: KeyList): void {
    for (const key of named(keys)) this.#leftAtMs.delete(key)
  }
}

function named({ galleries: ids, gallery, postNo }: KeyList): string[] {
  return Array.from(postNo, (each, i) => `${ids[gallery[i] as number] as string}/${each}`)
}

test('a post is remembered from its last removal on, until it is pending again or seven days are over', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.nat(0xffffffff), (steps, hashSeed) => {
      const tombstones = new Tombstones(hashSeed)
      const naive = new NaiveTombstones()
      let nowMs = 0
      for (const { does, keys, laterMs } of steps) {
        nowMs += laterMs
        for (const each of [tombstones, naive])
          if (does === 'bury') each.bury(keys, nowMs)
          else each.revive(keys)
        expect(tombstones.galleryCount).toBe(naive.galleryCount)
        for (const gallId of galleries)
          expect(postNos.filter((postNo) => tombstones.has(gallId, postNo))).toEqual(
            postNos.filter((postNo) => naive.has(gallId, postNo)),
          )
      }
    }),
    { numRuns: 300 },
  )
})

test('a tombstone of a post that stays away takes 26 bytes at most, however many came and went, and nothing once forgotten', () => {
  const batchCount = 10
  const batchRows = 5000
  const stepMs = tombstoneAgeMsMax / (batchCount - 1)
  const batch = (i: number): KeyList => ({
    galleries,
    gallery: Uint32Array.from({ length: batchRows }, (_, row) => row % galleries.length),
    postNo: Float64Array.from({ length: batchRows }, (_, row) => i * batchRows + row),
  })
  const none: KeyList = { galleries: [], gallery: new Uint32Array(0), postNo: new Float64Array(0) }
  const tombstones = new Tombstones()
  const bytesOfNone = tombstones.bytes
  for (let i = 0; i < 40; i++) {
    tombstones.bury(batch(i), i * stepMs)
    const count = Math.min(i + 1, batchCount) * batchRows
    // Of the first page of keys, and of the last, almost all may be unused.
    expect(tombstones.bytes).toBeLessThan(26 * count + 2 * 12 * 4096)
    const remembered = Array.from({ length: i + 1 }, (_, j) => tombstones.has('a', j * batchRows))
    expect(remembered.lastIndexOf(false)).toBe(Math.max(i - batchCount, -1))
  }
  tombstones.bury(none, 40 * stepMs + tombstoneAgeMsMax)
  expect(tombstones.bytes).toBeLessThanOrEqual(bytesOfNone + 12 * 4096)
})
