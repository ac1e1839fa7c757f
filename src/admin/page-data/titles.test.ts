/** Titles of pending posts come from the records of the cycles with which the posts entered. */
import { nextTurn } from '../../base/index.js'
import { expect, test, vi } from 'vitest'
import { packCycleRecord } from '../../records/index.js'
import type { ServerSources } from '../../server/index.js'
import { Titles } from './titles.js'

/** A client that stays. */
const stays = new AbortController().signal

/** A pool of posts, each of which entered with the row of a cycle. */
function pending(entries: readonly (readonly [position: number, row: number])[]) {
  const pool = {
    count: entries.length,
    enteredPosition: entries.map(([position]) => position),
    enteredRow: entries.map(([, row]) => row),
  }
  const warn = vi.fn()
  const readRecord = vi.fn<(position: number) => Uint8Array | undefined>()
  const sources = { cycles: { pool }, store: { closed: false, readRecord }, log: { warn } }
  const titles = new Titles(sources as unknown as ServerSources)
  const slots = [...entries.keys()]
  const slotTitles = (): (string | null)[] => slots.map((slot) => titles.of(pool as never, slot))
  return { titles, slots, slotTitles, warn, readRecord }
}

/** The record of a cycle that brought posts with these titles. */
function recordOf(title: readonly string[]): Uint8Array {
  const count = title.length
  const zeros = new Float64Array(count)
  const none = new Float64Array(0)
  const entry = { entered_position: none, entered_row: none }
  const header = {
    weights: { views: 1, comments: 0, up: 0, downvote_share: 0 },
    text_encoder: null,
    image_encoder: null,
    entered: count,
    left_at: 0,
    warnings: [],
  }
  return packCycleRecord(header, {
    candidates: {
      count,
      gall_id: title.map(() => 'g'),
      post_no: zeros,
      title,
      row_start: zeros,
      row_end: zeros,
      created_at: zeros,
      extracted_at: zeros,
      source: zeros,
      gallery_type: zeros,
    },
    removals: { count: 0, gall_id: [], post_no: none, reason: none, tier: none, decided_at: none, ...entry },
    results: { count: 0, outcome: none, ...entry },
    scored: { count: 0, views: none, up: none, comment_cnt: none, rtb_vote: none, text_encoded: none },
    images: { count: 0, row: none, position: none, encoded: none },
  })({ count: 0, p_views: null, p_comments: null, p_up: null, downvote_share: null })
}

test('each post has the title of its row, up to 300 characters; a record is read once for all its posts', async () => {
  const { titles, slots, slotTitles, readRecord } = pending([
    [1, 1],
    [1, 0],
    [2, 0],
  ])
  readRecord.mockImplementation((position) =>
    recordOf(position === 1 ? ['first', '두 번째'] : ['x'.repeat(400)]),
  )
  expect(slotTitles()).toEqual([null, null, null])
  await titles.read(slots, stays)
  expect(slotTitles()).toEqual(['두 번째', 'first', `${'x'.repeat(300)}…`])
  await titles.read(slots, stays)
  expect(readRecord.mock.calls).toEqual([[1], [2]])
})

test('the event loop continues to serve requests between the records', async () => {
  const { titles, slots, slotTitles, readRecord } = pending(
    Array.from({ length: 100 }, (_, index) => [index, 0]),
  )
  readRecord.mockImplementation((position) => recordOf([`title ${position}`]))
  const counts: number[] = []
  const reading = titles.read(slots, stays)
  for (let turn = 0; turn < 200; turn++) {
    counts.push(slotTitles().filter((title) => title !== null).length)
    await nextTurn()
  }
  await reading
  const steps = [...counts, 100].map((count, index) => count - (counts[index - 1] ?? 0))
  expect(Math.max(...steps)).toBeLessThanOrEqual(2)
  expect(slotTitles()).toEqual(slots.map((slot) => `title ${slot}`))
})

test('titles of a record that cannot be read now are read with the next request, and those of others at once', async () => {
  const { titles, slots, slotTitles, warn, readRecord } = pending([
    [1, 0],
    [2, 0],
    [3, 0],
  ])
  const whole = (position: number): Uint8Array => recordOf([`title ${position}`])
  readRecord.mockImplementation((position) =>
    position === 1 ? undefined : position === 2 ? whole(2).subarray(0, -1) : whole(3),
  )
  await titles.read(slots, stays)
  // The heads are the last table of a record, the titles one of the first.
  expect(slotTitles()).toEqual([null, 'title 2', 'title 3'])
  expect(warn).toHaveBeenCalledTimes(1)
  readRecord.mockImplementation(whole)
  await titles.read(slots, stays)
  expect(slotTitles()).toEqual(['title 1', 'title 2', 'title 3'])
})

test('no record is read for a client that has gone, and the clients that wait for it are next', async () => {
  const { titles, slots, slotTitles, readRecord } = pending(
    Array.from({ length: 100 }, (_, index) => [index, 0]),
  )
  const client = new AbortController()
  readRecord.mockImplementation((position) => {
    if (position === 1) client.abort()
    return recordOf([`title ${position}`])
  })
  const abandoned = [titles.read(slots, client.signal), titles.read(slots, client.signal)]
  const waiting = titles.read([99], stays)
  for (const each of await Promise.allSettled(abandoned))
    expect(each).toMatchObject({ status: 'rejected', reason: { name: 'AbortError' } })
  await waiting
  expect(readRecord.mock.calls).toEqual([[0], [1], [99]])
  expect(slotTitles()[99]).toBe('title 99')
})
