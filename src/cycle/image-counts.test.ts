/** Counts of images while they are loaded: whatever runs at the same time, they are those of the store. */
import '../../test/helpers/poisoned-memory.js'
import { nextTurn } from '../base/index.js'
import { beforeEach, expect, test } from 'vitest'
import { createMemoryStore, type ImageKey, type Store } from '../store/index.js'
import { ImageCounts } from './image-counts.js'

let store: Store

/** More than are read in one turn of the event loop. */
const imageCount = 2500

beforeEach(async () => {
  store = createMemoryStore()
  for (let postNo = 1; postNo <= imageCount; postNo++)
    await store.putImage(keyOf(postNo), {
      sha256: new Uint8Array(32).fill(postNo),
      uploadedBytes: 1,
      width: 1,
      height: 1,
      normalised: Uint8Array.of(1),
    })
})

function keyOf(postNo: number): ImageKey {
  return { gallId: 'g', postNo, position: 1 }
}

/** What the counts say and the store would not, or the reverse. */
function differences(counts: ImageCounts): number[] {
  const posts = Array.from({ length: imageCount + 1 }, (_, index) => index + 1)
  return posts.filter(
    (postNo) => counts.positions('g', postNo).join() !== store.imagePositions('g', postNo).join(),
  )
}

test('a load that a reload overtakes adds nothing that the reload no longer finds', async () => {
  const counts = new ImageCounts(store)
  const keys = store.imageKeys.bind(store)
  let removed = false
  // What another process has removed: the first load has read the key, the reload does not.
  store.imageKeys = function* () {
    for (const key of keys()) if (!removed || key.postNo !== 2) yield key
  }
  const first = counts.load()
  await nextTurn()
  await nextTurn()
  removed = true
  const imagePositions = store.imagePositions.bind(store)
  store.imagePositions = (gallId, postNo) => (postNo === 2 ? [] : imagePositions(gallId, postNo))
  await Promise.all([first, counts.reload()])
  expect(differences(counts)).toEqual([])
})

test('until a reload has ended, a load that began before it does not make the counts complete', async () => {
  const counts = new ImageCounts(store)
  const first = counts.load()
  await nextTurn()
  await nextTurn()
  const reloading = counts.reload()
  await first
  expect(differences(counts)).toEqual([])
  await reloading
  expect(differences(counts)).toEqual([])
})

test('complete counts that are loaded again are those of the store until they have been', async () => {
  const counts = new ImageCounts(store)
  await counts.load()
  const reloading = counts.reload()
  expect(differences(counts)).toEqual([])
  await nextTurn()
  expect(differences(counts)).toEqual([])
  await reloading
  expect(differences(counts)).toEqual([])
})

test('images that are stored and removed while the counts are loaded are counted', async () => {
  const counts = new ImageCounts(store)
  const loading = counts.load()
  await nextTurn()
  counts.add(keyOf(imageCount + 1))
  const imagePositions = store.imagePositions.bind(store)
  store.imagePositions = (gallId, postNo) => (postNo > imageCount ? [1] : imagePositions(gallId, postNo))
  await loading
  expect(differences(counts)).toEqual([])
})

test('positions are ascending, each once; removing one that is not there removes no other', async () => {
  const counts = new ImageCounts(createMemoryStore())
  await counts.load()
  const key = (position: number, postNo = 1) => ({ gallId: 'g', postNo, position })
  for (const position of [3, 1, 5, 3]) counts.add(key(position))
  counts.add(key(9, 2))
  for (const position of [0, 2, 4, 6]) counts.remove(key(position))
  expect(counts.positions('g', 1)).toEqual([1, 3, 5])
  counts.remove(key(3))
  expect([counts.positions('g', 1), counts.positions('g', 2), counts.positions('h', 1)]).toEqual([
    [1, 5],
    [9],
    [],
  ])
  const column = counts.column(['h', 'g'], Uint32Array.of(1, 0, 1), Float64Array.of(1, 1, 2))
  expect([...column]).toEqual([2, 0, 1])
})
