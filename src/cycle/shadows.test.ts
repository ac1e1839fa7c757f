/**
 * Shadows: their scores are stored with each cycle, and no response depends on them.
 */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { silentLog } from '../base/index.js'
import { removal } from '../../test/helpers/bodies.js'
import { callsOf, serviceParts, titledCycle as cycle } from '../../test/helpers/cycle-service.js'
import { EncodingModel, FakeTextEncoder, titleShare } from '../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../test/helpers/memory-store.js'
import '../../test/helpers/poisoned-memory.js'
import type { HeadColumns } from '../contract/index.js'
import { cycleTables, unpackRows } from '../records/index.js'
import type { Store } from '../store/index.js'
import { CycleService } from './service.js'

const [hash, otherHash] = ['a'.repeat(64), 'b'.repeat(64)]
const patience = { timeout: 20_000, interval: 5 }

let contents: MemoryContents
let store: Store
let model: EncodingModel
let shadow: EncodingModel
let service: CycleService
/** Reasons for skipped cycles. */
let skipped: string[]

beforeEach(async () => {
  contents = createMemoryContents()
  store = memoryStore({ contents })
  model = new EncodingModel('m1', new FakeTextEncoder(hash))
  shadow = new EncodingModel('s1', new FakeTextEncoder(otherHash))
  skipped = []
  service = await CycleService.open(
    serviceParts({
      store,
      model: () => model,
      log: {
        ...silentLog,
        warn: (fields) => void skipped.push(String((fields as { reason?: string }).reason)),
      },
    }),
  )
  await service.models.adopt(model, null, () => undefined)
})

const { submit } = callsOf(() => service)

function stored(position: number, version = 's1'): HeadColumns | null {
  const packed = store.models.readShadowScores(position, version)
  if (packed === undefined) return null
  const { p_views, p_comments, p_up, downvote_share } = unpackRows(cycleTables.heads, packed)
  return { p_views, p_comments, p_up, downvote_share }
}

const scored = (position: number): Promise<boolean> => vi.waitUntil(() => stored(position) !== null, patience)

const share = (post: number): number => titleShare(`post ${post}`)

function barrier(): { readonly closed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined
  const closed = new Promise<void>((resolve) => (open = resolve))
  return { closed, open: () => open() }
}

describe('a shadow', () => {
  test('has its heads stored for each scored row, in the order of the rows', async () => {
    await service.models.addShadow(shadow)
    await submit(cycle(0, [2, 1, 3], [3, 1]))
    await scored(1)
    expect(stored(1)).toEqual(shadow.predicted[0])
    expect(stored(1)).toEqual({
      p_views: Float32Array.of(share(1), share(3)),
      p_comments: new Float32Array(2),
      p_up: null,
      downvote_share: null,
    })
  })

  test('does not appear in a response', async () => {
    const alone = await submit(cycle(0, [1]))
    await service.models.addShadow(shadow)
    expect(await submit(cycle(0, [1]))).toBe(alone)
    const response = await submit(cycle(1, [2], [1, 2]))
    expect(response).toContain('"model_version":"m1"')
    expect(response).not.toContain('s1')
  })

  test('that is slow delays no response: it skips cycles until it is done', async () => {
    const slow = barrier()
    shadow.blockedBy = slow.closed
    await service.models.addShadow(shadow)
    await submit(cycle(0, [1]))
    await submit(cycle(1, [2], [1, 2]))
    await vi.waitUntil(() => skipped.length === 1, patience)
    expect(skipped).toEqual(['the shadow is still scoring an earlier cycle'])
    slow.open()
    await scored(1)
    expect(stored(2)).toBeNull()
    // The background encodes the text of the skipped cycle.
    await vi.waitUntil(() => contents.embeddings.size === 4, patience)
    await submit(cycle(2, [], [1, 2]))
    await scored(3)
    expect(stored(3)?.p_views).toEqual(Float32Array.of(share(1), share(2)))
  })

  test('that fails loses its own scores and nothing else', async () => {
    await service.models.addShadow(shadow)
    shadow.failing = true
    expect(await submit(cycle(0, [1]))).toContain('"status":"scored"')
    await vi.waitUntil(() => skipped.length === 1, patience)
    expect(skipped).toEqual([`s1, cycle ${cycle(0, [1]).cycle_id}: the model fails on purpose`])
    shadow.failing = false
    await submit(cycle(1, [], [1]))
    await scored(2)
    expect(stored(1)).toBeNull()
  })

  test('whose encoder fails loses its own scores and nothing else', async () => {
    await service.models.addShadow(shadow)
    const encoder = shadow.text!
    encoder.failing = true
    await submit(cycle(0, [1]))
    await vi.waitUntil(() => skipped.length > 0, patience)
    expect(skipped[0]).toMatch(/: the text encoder fails on purpose$/)
    encoder.failing = false
    await submit(cycle(1, [2], [1, 2]))
    await scored(2)
    // The background encodes what was not encoded because of the failure.
    await vi.waitUntil(() => contents.embeddings.size === 4, patience)
    await submit(cycle(2, [], [1, 2]))
    await scored(3)
    expect(stored(3)?.p_views).toEqual(Float32Array.of(share(1), share(2)))
  })

  test('whose texts take longer than the next cycles skips those cycles and scores the first', async () => {
    await service.models.addShadow(shadow)
    const encoder = shadow.text!
    const slow = barrier()
    encoder.blockedBy = slow.closed
    await submit(cycle(0, [1]))
    await submit(cycle(1, [], [1]))
    await submit(cycle(2, [], [1]))
    await vi.waitUntil(() => skipped.length === 2, patience)
    slow.open()
    await scored(1)
    expect(stored(1)?.p_views).toEqual(Float32Array.of(share(1)))
    expect(stored(2)).toBeNull()
    await submit(cycle(3, [], [1]))
    await scored(4)
    expect(stored(4)?.p_views).toEqual(Float32Array.of(share(1)))
    expect(encoder.titles).toEqual(['post 1'])
  })

  test('that is several cycles late scores the posts of its cycle, which have left since', async () => {
    await service.models.addShadow(shadow)
    const slow = barrier()
    shadow.text!.blockedBy = slow.closed
    await submit(cycle(0, [1]))
    await submit({ ...cycle(1, [2]), removals: [removal('g', 1)] })
    for (const index of [2, 3, 4]) await submit(cycle(index, [index + 1]))
    slow.open()
    await scored(1)
    expect(stored(1)?.p_views).toEqual(Float32Array.of(share(1)))
  })

  test('with the encoder of the serving model shares its vectors', async () => {
    const other = new EncodingModel('s2', new FakeTextEncoder(hash))
    await service.models.addShadow(other)
    await submit(cycle(0, [1, 2]))
    await vi.waitUntil(() => stored(1, 's2') !== null, patience)
    expect(stored(1, 's2')?.p_views).toEqual(Float32Array.of(share(1), share(2)))
    expect(other.text?.titles).toEqual([])
    expect(model.text?.titles).toEqual(['post 1', 'post 2'])
  })

  test('that is added has the texts of the pending posts, and one that is removed no longer scores', async () => {
    await submit(cycle(0, [1, 2]))
    await service.models.addShadow(shadow)
    expect(shadow.text?.titles).toEqual(['post 1', 'post 2'])
    await submit(cycle(1, [], [1, 2]))
    await scored(2)
    expect(stored(2)?.p_views).toEqual(Float32Array.of(share(1), share(2)))
    await service.models.removeShadow(shadow)
    await submit(cycle(2, [], [1, 2]))
    await service.models.shadows.idle()
    // The pending posts are tried twice before the first cycle.
    expect(shadow.predicted).toHaveLength(3)
    expect(stored(3)).toBeNull()
  })

  test('encodes each text once, across restarts too', async () => {
    await service.models.addShadow(shadow)
    await submit(cycle(0, [1]))
    await scored(1)
    await service.close()
    const fresh = new EncodingModel('s1', new FakeTextEncoder(otherHash))
    service = await CycleService.open(serviceParts({ store, model: () => model }))
    await service.models.addShadow(fresh)
    expect(fresh.text?.titles).toEqual([])
  })
})
