import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type * as cycle from '../../cycle/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { ServerSources } from '../../server/index.js'
import { Titles } from './titles.js'

vi.mock('../../cycle/index.js', async (original) => ({
  ...(await original<typeof cycle>()),
  readCandidates: vi.fn(),
}))

/** A pool of posts that entered with one cycle. */
function pending(count: number) {
  const rows = Array.from({ length: count }, (_, row) => row)
  const pool = { count, enteredPosition: rows.map(() => 1), enteredRow: rows }
  const warn = vi.fn()
  const sources = { cycles: { pool }, store: { closed: false }, log: { warn } }
  const titles = new Titles(sources as unknown as ServerSources)
  const found = (): (string | null)[] => rows.map((slot) => titles.of(pool as never, slot))
  return { titles, rows, found, warn }
}

const recordsOf = (texts: readonly string[]): Uint8Array[] => texts.map((text) => Buffer.from(text))

test('the event loop continues to serve requests while the titles of a cycle are read', async () => {
  const { titles, rows, found } = pending(1000)
  vi.mocked(readCandidates).mockResolvedValue(recordsOf(rows.map((row) => `{"title":"title ${row}"}`)))
  const counts: number[] = []
  const reading = titles.read(rows)
  for (let turn = 0; turn < 100; turn++) {
    counts.push(found().filter((title) => title !== null).length)
    await nextTurn()
  }
  await reading
  const steps = [...counts, 1000].map((count, index) => count - (counts[index - 1] ?? 0))
  expect(Math.max(...steps)).toBeLessThanOrEqual(100)
  expect(found()).toEqual(rows.map((row) => `title ${row}`))
})

test('a record that cannot be parsed has no title; the others of its cycle have theirs', async () => {
  const { titles, rows, found, warn } = pending(3)
  vi.mocked(readCandidates).mockResolvedValue(recordsOf(['{"title":"first"}', '{"tit', '{"title":"third"}']))
  await titles.read(rows)
  expect(found()).toEqual(['first', '', 'third'])
  expect(warn).toHaveBeenCalledTimes(1)
})

test('titles of a cycle that cannot be read now are read with the next request', async () => {
  const { titles, rows, found } = pending(1)
  vi.mocked(readCandidates).mockRejectedValueOnce(new Error('a fault of the disk'))
  await titles.read(rows)
  expect(found()).toEqual([null])
  vi.mocked(readCandidates).mockResolvedValue(recordsOf(['{"title":"first"}']))
  await titles.read(rows)
  expect(found()).toEqual(['first'])
})
