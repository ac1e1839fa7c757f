/** Vectors of texts through whole cycles: encoded once, available in time, and never those of another post. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { removal } from '../../../test/helpers/bodies.js'
import {
  callsOf,
  serviceParts,
  titledCycle as cycle,
  titleOf as title,
} from '../../../test/helpers/cycle-service.js'
import { EncodingModel, FakeTextEncoder, titleShare } from '../../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../../test/helpers/memory-store.js'
import '../../../test/helpers/poisoned-memory.js'
import type * as Codec from '../../codec/index.js'
import type { CycleResponse } from '../../contract/index.js'
import { openLmdbStore, StoreError, type Store } from '../../store/index.js'
import { CycleService } from '../service.js'
import { Embeddings } from './embeddings.js'

const hash = 'a'.repeat(64)
const otherHash = 'b'.repeat(64)
const unencodable = 'text that the encoder cannot encode, scored without it'
const patience = { timeout: 20_000, interval: 5 }

let contents: MemoryContents
let storeFails: boolean
let codecFails: boolean
let store: Store
let text: FakeTextEncoder
let model: EncodingModel
let service: CycleService

vi.mock('../../codec/index.js', async (importActual) => {
  const actual = await importActual<typeof Codec>()
  const encodeResponse: typeof Codec.encodeResponse = (response) => {
    if (codecFails) throw new Error('no reply')
    return actual.encodeResponse(response)
  }
  return { ...actual, encodeResponse }
})

/** A service that `first` serves; the store is what a restart would find. */
async function open(first: EncodingModel, on: Store = newStore()): Promise<CycleService> {
  store = on
  const opened = await CycleService.open(serviceParts({ store, model: () => model }))
  await opened.models.adopt(first, null, () => (model = first))
  return opened
}

function newStore(): Store {
  const beforeWrite = (): void => {
    if (storeFails) throw new StoreError('full', 'fails on purpose')
  }
  return memoryStore({ contents, beforeWrite })
}

async function adopt(next: EncodingModel): Promise<void> {
  await service.models.adopt(next, model, () => (model = next))
}

const { responseTo: submit } = callsOf(() => service)

/** post_no → p_views. */
function views({ results }: CycleResponse): Record<number, number> {
  return Object.fromEntries(results.map((row) => [row.post_no, Math.fround(row.p_views ?? NaN)]))
}

/** The expected `views` if every text was encoded. */
function titleShares(posts: readonly number[]): Record<number, number> {
  return Object.fromEntries(posts.map((post) => [post, titleShare(title(post))]))
}

beforeEach(async () => {
  contents = createMemoryContents()
  storeFails = false
  codecFails = false
  text = new FakeTextEncoder(hash)
  service = await open(new EncodingModel('m1', text))
})

test('of models that share an encoder, the newest one that is left encodes: the processes of others have ended', async () => {
  await submit(cycle(0, [1], [1]))
  const encoders = [0, 1, 2].map(() => new FakeTextEncoder(otherHash))
  const models = encoders.map((encoder, index) => new EncodingModel(`m${index}`, encoder))
  const embeddings = new Embeddings(serviceParts({ store, model: () => model }))
  for (const each of models) embeddings.addModel(each)
  embeddings.removeModel(models[0]!)
  embeddings.removeModel(models[2]!)
  await embeddings.complete(
    models[1]!,
    () => service.pool,
    () => false,
  )
  expect(encoders.map(({ titles }) => titles)).toEqual([[], [title(1)], []])
})

describe('a text', () => {
  test('is encoded with the cycle that contains it, and never again while its post is pending', async () => {
    expect(views(await submit(cycle(0, [1, 2], [1, 2])))).toEqual(titleShares([1, 2]))
    expect(views(await submit(cycle(1, [2, 3], [1, 2, 3])))).toEqual(titleShares([1, 2, 3]))
    expect(views(await submit(cycle(2, [], [3, 1, 2])))).toEqual(titleShares([1, 2, 3]))
    expect(text.titles).toEqual([1, 2, 3].map(title))
  })

  test('of a post that left and entered again is encoded for its new entry', async () => {
    await submit(cycle(0, [1], [1]))
    await submit({ ...cycle(1, [], []), removals: [removal('g', 1)] })
    expect(views(await submit(cycle(2, [1], [1], { title: 'post 1 anew' })))).toEqual({
      1: titleShare('post 1 anew'),
    })
  })

  test('is not encoded again after a restart', async () => {
    await submit(cycle(0, [1, 2], [1, 2]))
    await service.close()
    const fresh = new FakeTextEncoder(hash)
    service = await open(new EncodingModel('m1', fresh))
    expect(views(await submit(cycle(1, [3], [1, 2, 3])))).toEqual(titleShares([1, 2, 3]))
    expect(fresh.titles).toEqual([title(3)])
  })

  test('is not encoded again after a restart on a real disk', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'understudy-embeddings-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true }))
    service = await open(model, await openLmdbStore({ dataDir }))
    await submit(cycle(0, [1, 2], [1, 2]))
    await service.close()
    await store.close()
    const fresh = new FakeTextEncoder(hash)
    service = await open(new EncodingModel('m1', fresh), await openLmdbStore({ dataDir }))
    expect(views(await submit(cycle(1, [], [1, 2])))).toEqual(titleShares([1, 2]))
    expect(fresh.titles).toEqual([])
    await service.close()
    await store.close()
  })

  test('of a cycle that a journal has lost is discarded: posts that entered at its position instead have their own vectors', async () => {
    const stores = { current: newStore() }
    let followed: Parameters<Store['onFollowed']>[0] = () => Promise.resolve()
    const followedStore = new Proxy({} as Store, {
      get: (_, name) =>
        name === 'onFollowed'
          ? (listener: typeof followed) => (followed = listener)
          : (Reflect.get(stores.current, name) as unknown),
    })
    service = await open(model, followedStore)
    await submit(cycle(0, [1, 2], [1, 2]))
    const [lost, first] = [stores.current, service]
    contents = createMemoryContents()
    service = await open(new EncodingModel('m1', new FakeTextEncoder(hash)))
    await submit(cycle(1, [3, 4], [3, 4]))
    expect(store.lastCycle()?.position).toBe(lost.lastCycle()?.position)
    stores.current = store
    service = first
    await followed({ isComplete: true, imagesStored: [], imagesRemoved: [] })
    expect(views(await submit(cycle(2, [5], [3, 4, 5])))).toEqual(titleShares([3, 4, 5]))
  })

  test('of a cycle that was not stored is discarded: posts that enter at its position have their own vectors', async () => {
    await submit(cycle(0, [1], [1]))
    storeFails = true
    await expect(submit(cycle(1, [2, 3], [2, 3]))).rejects.toMatchObject({ status: 503 })
    storeFails = false
    expect(views(await submit(cycle(2, [5, 4], [1, 4, 5])))).toEqual(titleShares([1, 4, 5]))
    expect(views(await submit(cycle(3, [2, 3], [2, 3])))).toMatchObject(titleShares([2, 3]))
  })

  test('of a cycle that fails in the model is discarded too', async () => {
    model.failing = true
    await expect(submit(cycle(0, [1, 2], [1, 2]))).rejects.toMatchObject({ status: 503 })
    model.failing = false
    expect(views(await submit(cycle(1, [4, 3], [3, 4])))).toEqual(titleShares([3, 4]))
  })

  test('of a cycle whose response cannot be encoded is discarded too', async () => {
    codecFails = true
    await expect(submit(cycle(0, [1, 2], [1, 2]))).rejects.toThrow('no reply')
    codecFails = false
    expect(views(await submit(cycle(1, [4, 3], [3, 4])))).toEqual(titleShares([3, 4]))
  })
})

describe('past the budget for texts', () => {
  test('posts are scored without their texts, a warning counts them, and the background encodes them', async () => {
    text.limits.push(1)
    const response = await submit(cycle(0, [1, 2, 3], [1, 2, 3]))
    expect(views(response)).toEqual({ ...titleShares([1]), 2: 0, 3: 0 })
    expect(response.warnings).toEqual(['text not encoded in time, scored without it (2): g/2, g/3'])
    await vi.waitUntil(() => text.titles.length === 3, patience)
    await vi.waitUntil(() => contents.embeddings.size === 3, patience)
    const later = await submit(cycle(1, [], [1, 2, 3]))
    expect(views(later)).toEqual(titleShares([1, 2, 3]))
    expect(later.warnings).toEqual([])
    expect(text.titles).toEqual([1, 2, 3].map(title))
  })

  test('texts that the background has encoded are not encoded again after a restart', async () => {
    text.limits.push(1)
    await submit(cycle(0, [1, 2, 3], [1, 2, 3]))
    await vi.waitUntil(() => contents.embeddings.size === 3, patience)
    await service.close()
    const fresh = new FakeTextEncoder(hash)
    service = await open(new EncodingModel('m1', fresh))
    expect(views(await submit(cycle(1, [], [1, 2, 3])))).toEqual(titleShares([1, 2, 3]))
    expect(fresh.titles).toEqual([])
  })

  test('the background encodes in parts, and retries a text without a vector in a batch of its own', async () => {
    text.unreadable.add(title(2))
    text.limits.push(0, 1, 1)
    await submit(cycle(0, [1, 2, 3, 4], [1, 2, 3, 4]))
    await vi.waitUntil(() => text.titles.length === 3, patience)
    await vi.waitUntil(() => contents.embeddings.size === 3, patience)
    const { callCount } = text
    const later = await submit(cycle(1, [], [1, 2, 3, 4]))
    expect(views(later)).toEqual({ ...titleShares([1, 3, 4]), 2: 0 })
    expect(later.warnings).toEqual([`${unencodable} (1): g/2`])
    await submit(cycle(2, [], [1, 2, 3, 4]))
    // The unreadable text is not tried again.
    expect(text.callCount - callCount).toBeLessThanOrEqual(1)
    expect(text.titles).toHaveLength(3)
  })
})

describe('a text on which the encoder returns an error', () => {
  test('is counted as such from its first cycle on, and the others are encoded', async () => {
    text.erring.add(title(2))
    for (const index of [0, 1]) {
      const response = await submit(cycle(index, index === 0 ? [1, 2, 3] : [], [1, 2, 3]))
      expect(views(response)).toEqual({ ...titleShares([1, 3]), 2: 0 })
      expect(response.warnings).toEqual([`${unencodable} (1): g/2`])
    }
  })

  test('does not count for another post that enters at its position when its cycle was not stored', async () => {
    text.erring.add(title(2))
    storeFails = true
    await expect(submit(cycle(0, [2], [2]))).rejects.toThrow('storage refuses writes')
    storeFails = false
    const response = await submit(cycle(0, [1], [1]))
    expect([views(response), response.warnings]).toEqual([titleShares([1]), []])
  })
})

describe('a swap', () => {
  test('to a model with the same encoder encodes nothing', async () => {
    await submit(cycle(0, [1, 2], [1, 2]))
    const fresh = new FakeTextEncoder(hash)
    await adopt(new EncodingModel('m2', fresh))
    const response = await submit(cycle(1, [3], [1, 2, 3]))
    expect(response.model_version).toBe('m2')
    expect(views(response)).toEqual(titleShares([1, 2, 3]))
    expect(text.titles).toEqual([title(1), title(2)])
    expect(fresh.titles).toEqual([title(3)])
  })

  test('to another encoder encodes all pending posts first, and the swap back encodes nothing', async () => {
    await submit(cycle(0, [1, 2], [1, 2]))
    const before = model
    const fresh = new FakeTextEncoder(otherHash)
    await adopt(new EncodingModel('m2', fresh))
    expect(fresh.titles).toEqual([title(1), title(2)])
    const response = await submit(cycle(1, [], [1, 2]))
    expect(response.warnings).toEqual([])
    expect(views(response)).toEqual(titleShares([1, 2]))
    await adopt(before)
    expect(views(await submit(cycle(2, [], [1, 2])))).toEqual(titleShares([1, 2]))
    expect(text.titles).toEqual([title(1), title(2)])
  })

  test('whose encoder fails changes nothing, and the next attempt succeeds', async () => {
    await submit(cycle(0, [1, 2], [1, 2]))
    const fresh = new FakeTextEncoder(otherHash)
    fresh.failing = true
    const next = new EncodingModel('m2', fresh)
    await expect(adopt(next)).rejects.toThrow('fails on purpose')
    expect((await submit(cycle(1, [3], [1, 2, 3]))).model_version).toBe('m1')
    fresh.failing = false
    await adopt(next)
    expect(views(await submit(cycle(2, [], [1, 2, 3])))).toEqual(titleShares([1, 2, 3]))
    expect([...fresh.titles].sort()).toEqual([1, 2, 3].map(title))
  })

  test('that fails its trial leaves the texts to the encoder of the model that serves', async () => {
    await submit(cycle(0, [1], [1]))
    const fresh = new FakeTextEncoder(hash)
    const next = new EncodingModel('m2', fresh)
    next.failing = true
    await expect(adopt(next)).rejects.toThrow('fails on purpose')
    fresh.failing = true
    text.limits.push(1)
    expect(views(await submit(cycle(1, [2, 3], [1, 2, 3])))).toEqual({ ...titleShares([1, 2]), 3: 0 })
    // The background too.
    await vi.waitUntil(() => contents.embeddings.size === 3, patience)
    expect(text.titles).toEqual([1, 2, 3].map(title))
    expect(fresh.titles).toEqual([])
  })

  test('includes the texts of posts that entered while it was prepared', async () => {
    await submit(cycle(0, [1], [1]))
    let unblock = (): void => undefined
    const fresh = new FakeTextEncoder(otherHash)
    fresh.blockedBy = new Promise((resolve) => (unblock = resolve))
    const adopting = adopt(new EncodingModel('m2', fresh))
    await submit(cycle(1, [2, 3], [1, 2, 3]))
    unblock()
    await adopting
    const response = await submit(cycle(2, [], [1, 2, 3]))
    expect(response.model_version).toBe('m2')
    expect(response.warnings).toEqual([])
    expect(views(response)).toEqual(titleShares([1, 2, 3]))
    expect([...fresh.titles].sort()).toEqual([1, 2, 3].map(title))
  })
})
