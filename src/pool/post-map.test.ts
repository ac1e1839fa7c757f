/** Posts as map keys. */
import { expect, test } from 'vitest'
import { mapKey, PostMap } from './post-map.js'

const high = 2 ** 32

test('a map distinguishes posts whose galleries or halves of post numbers are equal', () => {
  const map = new PostMap<string, string>()
  const postNos = [1, 2, high - 1, high, high + 1, 2 * high + 1, Number.MAX_SAFE_INTEGER]
  const posts = ['g', 'h'].flatMap((gallery) => postNos.map((postNo) => [gallery, postNo] as const))
  for (const [gallery, postNo] of posts) map.set(gallery, postNo, `${gallery}/${postNo}`)
  for (const [gallery, postNo] of posts) expect(map.get(gallery, postNo)).toBe(`${gallery}/${postNo}`)
  expect(map.get('g', 3)).toBeUndefined()
  for (const postNo of postNos) map.delete('g', postNo)
  expect(posts.filter((post) => map.get(...post) !== undefined).map(([gallery]) => gallery)).toEqual(
    postNos.map(() => 'h'),
  )
  expect(map.galleryCount).toBe(1)
})

/** V8's hash of a small integer in a `Map`. It has no seed. */
function mapHash(integer: number): number {
  let hash = ~integer + (integer << 15)
  hash ^= hash >>> 12
  hash += hash << 2
  hash ^= hash >>> 4
  hash = Math.imul(hash, 2057)
  return (hash ^ (hash >>> 16)) & 0x3fffffff
}

test('post numbers that all collide in a plain Map do not collide in a map of posts', () => {
  const bucketCount = 4096
  const colliding: number[] = []
  for (let postNo = 1; colliding.length < 1000; postNo++)
    if (mapHash(postNo) % bucketCount === 0) colliding.push(postNo)
  const buckets = new Set(colliding.map((postNo) => mapHash(mapKey(postNo)) % bucketCount))
  expect(buckets.size).toBeGreaterThan(500)
})
