/** Tombstones against a plain map of times. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PostKeys } from './post-map.js'
import { Tombstones, tombstoneAgeMsMax } from './tombstones.js'

const galleries = ['a', 'b', 'c']
/** Small numbers, numbers that differ from them in the upper half only, and the greatest. */
const postNos = Array.from({ length: 40 }, (_, i) => i + 1)
  .flatMap((low) => [low, 2 ** 32 + low])
  .concat(Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER)

const noPosts: PostKeys = { galleries: [], gallery: new Uint32Array(0), postNo: new Float64Array(0) }
const onePost: PostKeys = { galleries: ['g'], gallery: Uint32Array.of(0), postNo: Float64Array.of(7) }

const postKeys: fc.Arbitrary<PostKeys> = fc
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
  operation: fc.constantFrom('add', 'add', 'delete'),
  posts: postKeys,
  laterMs: fc.constantFrom(0, 1, tombstoneAgeMsMax / 3, tombstoneAgeMsMax - 1, tombstoneAgeMsMax + 1),
})

/** The rules without a queue: when each post left. */
class NaiveTombstones {
  readonly #leftAtMs = new Map<string, number>()

  get galleryCount(): number {
    return new Set(Array.from(this.#leftAtMs.keys(), (key) => key.split('/')[0])).size
  }

  has(gallId: string, postNo: number): boolean {
    return this.#leftAtMs.has(`${gallId}/${postNo}`)
  }

  add(posts: PostKeys, leftAtMs: number): void {
    for (const key of namesOf(posts)) this.#leftAtMs.set(key, leftAtMs)
    for (const [key, atMs] of this.#leftAtMs)
      if (atMs < leftAtMs - tombstoneAgeMsMax) this.#leftAtMs.delete(key)
  }

  delete(posts: PostKeys): void {
    for (const key of namesOf(posts)) this.#leftAtMs.delete(key)
  }
}

function namesOf({ galleries: ids, gallery, postNo }: PostKeys): string[] {
  return Array.from(postNo, (each, i) => `${ids[gallery[i]!]!}/${each}`)
}

test('a post has a tombstone from its last removal until it is pending again or seven days have passed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const tombstones = new Tombstones()
      const naive = new NaiveTombstones()
      let nowMs = 0
      for (const { operation, posts, laterMs } of steps) {
        nowMs += laterMs
        for (const each of [tombstones, naive])
          if (operation === 'add') each.add(posts, nowMs)
          else each.delete(posts)
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

test('a tombstone expires after exactly seven days, to the millisecond', () => {
  const tombstones = new Tombstones()
  tombstones.add(onePost, 1000)
  tombstones.add(noPosts, 1000 + 604_800_000)
  expect(tombstones.has('g', 7)).toBe(true)
  tombstones.add(noPosts, 1000 + 604_800_001)
  expect(tombstones.has('g', 7)).toBe(false)
})

test('a post that left again keeps its tombstone when its first departure expires', () => {
  const tombstones = new Tombstones()
  tombstones.add(onePost, 0)
  tombstones.delete(onePost)
  expect(tombstones.has('g', 7)).toBe(false)
  tombstones.add(onePost, 1000)
  tombstones.add(noPosts, 604_800_500)
  expect(tombstones.has('g', 7)).toBe(true)
})

test('a time of departure before the newest one is refused', () => {
  const tombstones = new Tombstones()
  tombstones.add(onePost, 1000)
  expect(() => {
    tombstones.add(onePost, 999)
  }).toThrow('times of departure never fall')
})

/** Posts `from`, `from + 1`, … of one gallery. */
function postsFrom(from: number, count: number): PostKeys {
  return {
    galleries: ['g'],
    gallery: new Uint32Array(count),
    postNo: Float64Array.from({ length: count }, (_, i) => from + i),
  }
}

test('of 250,000 posts that left, the oldest departures are forgotten first, in a running process and after a restart', () => {
  const departures = [
    { posts: postsFrom(1, 5000), leftAtMs: 1000 },
    { posts: postsFrom(5001, 245_000), leftAtMs: 1000 },
    { posts: postsFrom(250_001, 1), leftAtMs: 2000 },
    { posts: postsFrom(250_002, 4999), leftAtMs: 3000 },
    { posts: postsFrom(255_001, 1), leftAtMs: 3000 },
  ]
  const running = new Tombstones()
  const expectKept = (count: number, postNos: readonly number[]): void => {
    const restarted = Tombstones.at(3000, departures.slice(0, count).reverse())
    for (const tombstones of [running, restarted])
      expect([1, 5000, 5001, 250_000, 250_001, 255_001].filter((no) => tombstones.has('g', no))).toEqual(
        postNos,
      )
  }
  for (const { posts, leftAtMs } of departures.slice(0, 2)) running.add(posts, leftAtMs)
  expectKept(2, [1, 5000, 5001, 250_000])
  for (const { posts, leftAtMs } of departures.slice(2, 4)) running.add(posts, leftAtMs)
  expectKept(4, [5001, 250_000, 250_001])
  for (const { posts, leftAtMs } of departures.slice(4)) running.add(posts, leftAtMs)
  expectKept(5, [250_001, 255_001])
})

test('what left more than seven days ago is not read after a restart', () => {
  const read: number[] = []
  function* departures(): Iterable<{ posts: PostKeys; leftAtMs: number }> {
    for (const leftAtMs of [3, 2, 1, 0]) {
      read.push(leftAtMs)
      yield { posts: leftAtMs === 2 ? onePost : noPosts, leftAtMs }
    }
  }
  expect(Tombstones.at(tombstoneAgeMsMax + 2, departures()).has('g', 7)).toBe(true)
  expect(read).toEqual([3, 2, 1])
})
