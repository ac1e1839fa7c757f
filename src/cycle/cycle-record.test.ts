/** What the record of a cycle says is what its request and its response say. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody } from '../../test/helpers/bodies.js'
import { cycleSequence } from '../../test/helpers/cycle-arbitraries.js'
import { RecordedMemory } from '../../test/helpers/recorded-memory.js'
import { outcome, outcomeCodes, type CycleRequest, type CycleResponse } from '../contract/index.js'
import { scoreRows } from '../pool/index.js'
import { readCycleHeader, readCycleTable } from '../records/index.js'
import type { Store } from '../store/index.js'

async function stored(cycles: readonly CycleRequest[]): Promise<Store> {
  const memory = await RecordedMemory.open()
  for (const cycle of cycles) await memory.submit(cycle)
  return memory.store
}

function recordAt(store: Store, position: number): Uint8Array {
  return store.readRecord(position) ?? expect.fail(`no record at ${position}`)
}

test('results, scores and posts of a record are those of the response and the request', () =>
  fc.assert(
    fc.asyncProperty(cycleSequence, async (cycles) => {
      const store = await stored(cycles)
      for (const { position, cycleId } of store.tail(1)) {
        const record = recordAt(store, position)
        const { results: rows } = JSON.parse(
          Buffer.from(store.readResponse(cycleId) ?? []).toString(),
        ) as CycleResponse
        const pending = rows.filter(({ reason }) => reason !== 'unknown_post')
        const results = readCycleTable(record, 'results')
        expect(results.count).toBe(pending.length)
        const codes = [...results.outcome].map((code) => outcomeCodes[code])
        expect(codes).toEqual(pending.map(({ status, reason = null }) => ({ status, reason })))
        const names = [...results.entered_position].map((at, slot) => {
          const entered = readCycleTable(recordAt(store, at), 'candidates')
          const row = results.entered_row[slot]!
          expect(row).toBeLessThan(readCycleHeader(recordAt(store, at)).entered)
          return { gall_id: entered.gall_id[row], post_no: entered.post_no[row] }
        })
        expect(names).toEqual(pending.map(({ gall_id, post_no }) => ({ gall_id, post_no })))
        const { count, ...heads } = readCycleTable(record, 'heads')
        const scores = scoreRows(heads, readCycleHeader(record).weights, count)
        const scored = pending.filter(({ status }) => status === 'scored')
        expect([...scores]).toEqual(scored.map(({ score }) => Math.fround(score ?? NaN)))
        expect(count).toBe(results.outcome.filter((code) => code === outcome.scored).length)
        const titled = readCycleTable(record, 'candidates')
        const received = new TextDecoder().decode(bytesOf(cycles[position - 1]))
        for (const [row, title] of titled.title.entries()) {
          const text = Buffer.from(received).subarray(titled.row_start[row], titled.row_end[row])
          const candidate = JSON.parse(text.toString()) as { title: string; gall_id: string }
          expect(title === null || title === candidate.title).toBe(true)
          expect(title === null).toBe(row >= readCycleHeader(record).entered)
          expect(titled.gall_id[row]).toBe(candidate.gall_id)
        }
      }
    }),
    { numRuns: 40 },
  ))

test('the times of a post have fractions of a millisecond, as in its request', async () => {
  const created_at = '2024-02-29T14:00:00.0005Z'
  const extracted_at = '2024-02-29T14:00:00.00025Z'
  const candidates = [candidate('g', 1, { created_at, extracted_at })]
  const recorded = readCycleTable(recordAt(await stored([cycleBody(0, { candidates })]), 1), 'candidates')
  const secondMs = Date.parse('2024-02-29T14:00:00Z')
  expect([recorded.created_at[0], recorded.extracted_at[0]]).toEqual([secondMs + 0.5, secondMs + 0.25])
})
