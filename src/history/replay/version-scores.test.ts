/** Scores of two versions for the same rows: from the response, from a shadow and from a replay. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import {
  EncodingModel,
  FakeImageEncoder,
  FakeTextEncoder,
  titleShare,
} from '../../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../../test/helpers/memory-store.js'
import type { CycleRequest } from '../../contract/index.js'
import { CycleService, RequestBody, StageClock } from '../../cycle/index.js'
import type { Model } from '../../model/index.js'
import type { Store } from '../../store/index.js'
import { compareVersions, lastCycles } from './compare-versions.js'
import type { ExcludedInput } from './replayed-inputs.js'
import { sourcedScores, type SourcedCycle, type SourcedScores } from './version-scores.js'

interface Compared extends Pick<SourcedCycle, 'posts'> {
  readonly first: SourcedScores
  readonly second: SourcedScores
}

const [hash, otherHash] = ['a'.repeat(64), 'b'.repeat(64)]
let contents: MemoryContents
let store: Store
let service: CycleService
let reported: [version: string, excluded: ExcludedInput][]
const model = new EncodingModel('m1', new FakeTextEncoder(hash))

beforeEach(async () => {
  reported = []
  contents = createMemoryContents()
  store = memoryStore({ contents })
  service = await CycleService.open({
    store,
    model: () => model,
    clock: () => cycleMs(1000),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights: { views: 2, comments: 1, up: 1, downvote_share: 0 } },
    log: silentLog,
  })
  await service.models.adopt(model, null, () => undefined)
})

async function submit(body: CycleRequest): Promise<void> {
  await service.intake.submit(new RequestBody(bytesOf(body)), cycleMs(1000), new StageClock(0))
}

function cycle(
  index: number,
  entering: readonly number[],
  scored: readonly number[] = entering,
): CycleRequest {
  return cycleBody(index, {
    candidates: entering.map((post) => candidate('g', post, { title: `post ${post}` })),
    engagement: scored.map((post) => reading('g', post, cycleMs(index))),
  })
}

async function compared(
  second: string,
  load: (version: string) => Promise<Model>,
  from = 1,
): Promise<Compared[]> {
  const all: Compared[] = []
  for await (const { posts, sides } of sourcedScores(store, [...store.tail(from)], {
    versions: ['m1', second],
    load,
    onExcluded: (version, excluded) => reported.push([version, excluded]),
  }))
    all.push({ posts, first: sides[0]!, second: sides[1]! })
  return all
}

async function putImage(postNo: number, grey: number): Promise<void> {
  const key = { gallId: 'g', postNo, position: 1 }
  const sha256 = new Uint8Array(32).fill(grey)
  const normalised = Uint8Array.of(grey)
  await store.putImage(key, { sha256, uploadedBytes: 1, width: 1, height: 1, normalised })
  service.imageStored(key)
}

const noModel = (): Promise<Model> => Promise.reject(new Error('no model needs to be loaded'))
const doubleShare = (post: number): number => Math.fround(2 * titleShare(`post ${post}`))
const posts = (scored: Compared | undefined): number[] | undefined =>
  scored?.posts.map(({ postNo }) => postNo)

describe('scores of two models', () => {
  test('come from the response and from the shadow if these exist', async () => {
    await service.models.addShadow(new EncodingModel('s1', new FakeTextEncoder(otherHash)))
    await submit(cycle(0, [2, 1], [1, 2]))
    await vi.waitUntil(() => contents.shadowScores.size === 1, { timeout: 20_000, interval: 5 })
    const [first] = await compared('s1', noModel)
    expect(posts(first)).toEqual([2, 1])
    const scores = Float64Array.of(doubleShare(2), doubleShare(1))
    expect(first?.first).toMatchObject({ source: 'response', scores })
    expect(first?.second).toMatchObject({ source: 'shadow', scores })
  })

  test('come from a replay otherwise, which encodes each text once and loads each model once', async () => {
    await submit(cycle(0, [1, 2]))
    await submit(cycle(1, [3], [1, 2, 3]))
    await submit(cycleBody(2))
    await submit(cycle(3, [], [3, 1]))
    const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    const load = vi.fn(() => Promise.resolve(fresh))
    const all = await compared('s1', load)
    expect(all.map(posts)).toEqual([
      [1, 2],
      [1, 2, 3],
      [1, 3],
    ])
    for (const { first, second } of all) {
      expect([first.source, second.source]).toEqual(['response', 'replay'])
      expect(second.scores).toEqual(first.scores)
    }
    expect(load).toHaveBeenCalledTimes(1)
    expect(fresh.text?.titles).toEqual(['post 1', 'post 2', 'post 3'])
  })

  test('of a replay use the stored vectors of the texts and images of the same posts', async () => {
    const image = new FakeImageEncoder(hash)
    const served = new EncodingModel('m1', null, image)
    // A post that was pending before the replay begins, is named again and has left: rows of the replay shift by it.
    await submit(cycle(0, [9]))
    await submit(cycle(1, [9, 1, 2], [1, 2]))
    await putImage(2, 51)
    await submit({ ...cycle(2, [3], [1, 2, 3]), removals: [removal('g', 9)] })
    const sha256 = new Uint8Array(32).fill(51)
    await store.models.putEmbeddings(hash, [{ key: sha256, vector: Float32Array.of(0.5, 1) }])
    const sameEncoders = new EncodingModel('s1', new FakeTextEncoder(hash), served.image)
    const [last] = await compared('s1', () => Promise.resolve(sameEncoders), 3)
    expect(posts(last)).toEqual([1, 2, 3])
    expect(last?.second.scores).toEqual(
      Float64Array.of(doubleShare(1), Math.fround(2 * titleShare('post 2') + 0.5), doubleShare(3)),
    )
    expect(sameEncoders.text?.titles).toEqual([])
    expect(image.encodedImages).toEqual([])
  })

  test('of a replay are those of the new text once a post has entered again with another one', async () => {
    await submit(cycle(0, [1]))
    await submit({ ...cycleBody(1), removals: [removal('g', 1)] })
    const again = candidate('g', 1, { title: 'another text' })
    await submit(cycleBody(2, { candidates: [again], engagement: [reading('g', 1, cycleMs(2))] }))
    const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    const all = await compared('s1', () => Promise.resolve(fresh))
    expect(all.map(({ second }) => [...second.scores])).toEqual(
      ['post 1', 'another text'].map((title) => [Math.fround(2 * titleShare(title))]),
    )
  })

  test('of a replay skip a text and an image that crash their encoders, and report each once', async () => {
    for (const [postNo, grey] of [
      [1, 51],
      [3, 9],
      [4, 102],
    ] as const)
      await putImage(postNo, grey)
    await submit(cycle(0, [1, 2, 3]))
    await submit(cycle(1, [4], [1, 2, 3, 4]))
    const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash), new FakeImageEncoder(otherHash))
    fresh.text?.crashing.add('post 2')
    fresh.image?.crashing.add(9)
    const all = await compared('s1', () => Promise.resolve(fresh))
    const scores = [
      Math.fround(doubleShare(1) + Math.fround(51 / 255)),
      0,
      doubleShare(3),
      Math.fround(doubleShare(4) + Math.fround(102 / 255)),
    ]
    expect(all.map(({ second }) => [...second.scores])).toEqual([scores.slice(0, 3), scores])
    expect(reported).toMatchObject([
      ['s1', { what: 'text', gallId: 'g', postNo: 2, problem: 'the text encoder crashed' }],
      ['s1', { what: 'image', gallId: 'g', postNo: 3 }],
    ])
  })

  test('of a replay are an error when the encoder fails on everything', async () => {
    await submit(cycle(0, [1, 2]))
    const failing = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    if (failing.text !== null) failing.text.failing = true
    await expect(compared('s1', () => Promise.resolve(failing))).rejects.toThrow(
      /^s1, cycle \d{8}T\d{4}: .*fails on purpose/,
    )
    expect(reported).toEqual([])
  })

  test('use the weights of their cycle', async () => {
    await submit(cycle(0, [1]))
    await store.appendWeights(2, {
      version: 'w2',
      weights: { views: 4, comments: 0, up: 0, downvote_share: 0 },
      note: '',
      setAtMs: cycleMs(0),
      firstCycleMs: cycleMs(1),
    })
    const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    const [first] = await compared('s1', () => Promise.resolve(fresh))
    expect(first?.second.scores).toEqual(Float64Array.of(doubleShare(1)))
  })
})

describe('heads that a model lacks', () => {
  test('are found in a response, a shadow and a replay, if they have a weight', async () => {
    const shadow = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    await service.models.addShadow(shadow)
    await submit(cycle(0, [1]))
    await vi.waitUntil(() => contents.shadowScores.size === 1, { timeout: 20_000, interval: 5 })
    await service.models.removeShadow(shadow)
    await submit(cycle(1, [2]))
    const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    const all = await compared('s1', () => Promise.resolve(fresh))
    expect(all.map(({ second }) => second.source)).toEqual(['shadow', 'replay'])
    // The model has no downvote_share either, which weighs 0.
    for (const { first, second } of all) expect([first.lacking, second.lacking]).toEqual([['p_up'], ['p_up']])
  })
})

test('a comparison covers the newest cycles, and has what each version was scored without', async () => {
  await submit(cycle(0, [1, 2, 3]))
  await submit(cycle(1, [4], [1, 4]))
  await submit(cycleBody(2))
  await submit(cycle(3, [], [2]))
  const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
  fresh.text?.crashing.add('post 2')
  const comparison = await compareVersions(store, {
    cycles: lastCycles(store, 3),
    versions: ['s1', 'm1'],
    load: () => Promise.resolve(fresh),
    onExcluded: () => undefined,
  })
  expect(comparison).toMatchObject({
    first: 's1',
    second: 'm1',
    cycles: { count: 3, from: '20240301T0005', to: '20240301T0015', without_scored_posts: 1 },
    scores: 3,
    posts: 3,
    skipped: { first: { texts: 1, images: 0 }, second: { texts: 0, images: 0 } },
    sources: { first: { replay: 2, response: 0 }, second: { replay: 0, response: 2 } },
    per_cycle: [{ posts: 2 }, { posts: 1 }],
  })
})

test('a comparison lists a post with the cycle in which its ranks differ most', async () => {
  await submit(cycle(0, [1, 3]))
  await submit(cycle(1, [2], [1, 2, 3]))
  await submit(cycle(2, [], [1, 3]))
  // Without its text, the best post is the last.
  const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
  fresh.text?.crashing.add('post 3')
  const { movers } = await compareVersions(store, {
    cycles: lastCycles(store, 3),
    versions: ['m1', 's1'],
    load: () => Promise.resolve(fresh),
    onExcluded: () => undefined,
  })
  const ofBest = movers.filter(({ post_no }) => post_no === 3)
  expect(ofBest).toMatchObject([{ cycle_id: '20240301T0005', first_rank: 1, second_rank: 3, posts: 3 }])
})
