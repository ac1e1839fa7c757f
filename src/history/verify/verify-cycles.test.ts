/** Verification reports any change of stored cycles, and nothing for unchanged ones. */
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import type { WeightsSetting } from '../../pool/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { cycleSequence } from '../../../test/helpers/cycle-arbitraries.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import type { CycleRequest, CycleResponse } from '../../contract/index.js'
import { CycleService, RequestBody, StageClock } from '../../cycle/index.js'
import {
  cycleTableNames,
  packCycleRecord,
  readCycleHeader,
  readCycleTable,
  type CycleTables,
} from '../../records/index.js'
import { createMemoryStore, type CycleContents, type Store } from '../../store/index.js'
import { verifyCycles } from './verify-cycles.js'

async function served(cycles: readonly CycleRequest[]): Promise<Store> {
  const store = createMemoryStore()
  const model = new FakeModel()
  const service = await CycleService.open({
    store,
    model: () => model,
    clock: () => cycleMs(1000),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights: { views: 1, comments: 0.5, up: 0.25, downvote_share: 0 } },
    log: silentLog,
  })
  for (const cycle of cycles)
    await service.intake.submit(new RequestBody(bytesOf(cycle)), cycleMs(1000), new StageClock(0))
  await service.close()
  return store
}

async function problemsOf(store: Store): Promise<string[]> {
  const problems: string[] = []
  const report = (problem: string): void => void problems.push(problem)
  await verifyCycles(store, { report })
  return problems
}

/** All of each cycle. */
function recordsOf(store: Store): CycleContents[] {
  return [...store.tail(1)].map(({ position, ...header }) => ({
    ...header,
    request: store.readRequest(position)!,
    requestSha256: store.hashes(position)!.requestSha256,
    response: store.readResponse(header.cycleId)!,
    responseSha256: store.hashes(position)!.responseSha256,
    record: store.readRecord(position)!,
    texts: null,
  }))
}

function savedPoolOf(store: Store): Uint8Array {
  const [position = 0] = store.savedPools()
  return store.readSavedPool(position)!
}

/** `saved`: the pool after the last of the records. */
async function storeOf(
  records: readonly CycleContents[],
  weights: readonly WeightsSetting[],
  saved: Uint8Array,
): Promise<Store> {
  const store = createMemoryStore()
  for (const [index, entry] of weights.entries()) await store.appendWeights(index + 1, entry)
  for (const record of records)
    await store.appendCycle({ ...record, responseSha256: hash('sha256', record.response) })
  await store.savePool(records.length, saved)
  return store
}

test('the records of any sequence of cycles have no problems', () =>
  fc.assert(
    fc.asyncProperty(cycleSequence, async (cycles) => {
      expect(await problemsOf(await served(cycles))).toEqual([])
    }),
    { numRuns: 60 },
  ))

/** The first row of each column. */
function firstOf<Table extends object>(table: Table): Table {
  const entries = Object.entries(table) as [string, Float64Array | number][]
  return Object.fromEntries(
    entries.map(([name, values]) => [name, typeof values === 'number' ? 1 : values.slice(0, 1)]),
  ) as Table
}

/** A record with other tables. */
function repacked(record: Uint8Array, over: (tables: CycleTables) => Partial<CycleTables>): Uint8Array {
  const tables = Object.fromEntries(
    cycleTableNames.map((name) => [name, readCycleTable(record, name)]),
  ) as unknown as CycleTables
  const changed = { ...tables, ...over(tables) }
  return packCycleRecord(readCycleHeader(record), changed)(changed.heads)
}

describe('verification reports', () => {
  let records: CycleContents[]
  let weights: WeightsSetting[]
  let saved: Uint8Array
  /** After the second cycle. */
  let savedBefore: Uint8Array
  /** The last records of the same cycles, apart from the last reading. */
  let variant: CycleContents
  let variantSaved: Uint8Array
  const cycles = (views: number): CycleRequest[] => [
    cycleBody(0, {
      candidates: [candidate('g', 1), candidate('g', 2)],
      engagement: [reading('g', 1, cycleMs(0)), reading('g', 2, cycleMs(0))],
    }),
    cycleBody(1, {
      candidates: [candidate('g', 3)],
      engagement: [reading('g', 2, cycleMs(1)), reading('g', 3, cycleMs(1))],
      removals: [removal('g', 1)],
    }),
    cycleBody(2, { engagement: [reading('g', 2, cycleMs(2)), reading('g', 3, cycleMs(2), { views })] }),
  ]
  beforeEach(async () => {
    const store = await served(cycles(7))
    records = recordsOf(store)
    weights = [...store.listWeights()]
    saved = savedPoolOf(store)
    savedBefore = savedPoolOf(await served(cycles(7).slice(0, 2)))
    const varied = await served(cycles(8))
    variant = recordsOf(varied)[2]!
    variantSaved = savedPoolOf(varied)
  })

  const change = (index: number, over: (cycle: CycleContents) => Partial<CycleContents>): void => {
    const cycle = records[index]!
    records[index] = { ...cycle, ...over(cycle) }
  }
  const response = (index: number, over: (response: CycleResponse) => object): void =>
    change(index, (cycle) => {
      const parsed = JSON.parse(Buffer.from(cycle.response).toString()) as CycleResponse
      return { response: bytesOf({ ...parsed, ...over(parsed) }) }
    })
  const other = (index: number): CycleContents => records[index]!
  const tables = (index: number, over: (tables: CycleTables) => Partial<CycleTables>): void =>
    change(index, ({ record }) => ({ record: repacked(record, over) }))

  test.each<[string, () => void, RegExp]>([
    ['an earlier pool', () => (saved = savedBefore), /a saved pool cannot be used: it is that of position 2/],
    [
      'a saved pool with another latest reading',
      () => (saved = variantSaved),
      /saved pool: post g\/3 differs/,
    ],
    [
      'a response that names another model',
      () => change(1, () => ({ modelVersion: 'm9' })),
      /names another model/,
    ],
    [
      'a cycle of another time',
      () => change(1, ({ cycleAtMs }) => ({ cycleAtMs: cycleAtMs + 1 })),
      /has another cycle_time/,
    ],
    [
      'a count of more results than there are',
      () => response(2, ({ counts }) => ({ counts: { ...counts, results: counts.results + 1 } })),
      /counts 3 results and has 2/,
    ],
    [
      'posts that never entered',
      () => change(0, () => ({ record: other(1).record })),
      /the posts of the record differ/,
    ],
    [
      'missing departures',
      () =>
        tables(1, ({ removals }) => ({ removals: { ...removals, entered_position: Float64Array.of(NaN) } })),
      /the posts of the record differ/,
    ],
    [
      'another title',
      () => tables(0, ({ candidates }) => ({ candidates: { ...candidates, title: ['x', 'y'] } })),
      /the posts of the record differ/,
    ],
    [
      'the hash of another request',
      () => change(1, () => ({ requestSha256: hash('sha256', '{}') })),
      /the request has another hash/,
    ],
    [
      'the request of another cycle',
      () => change(2, () => ({ request: other(1).request })),
      /the request is that of/,
    ],
    [
      'the response of another cycle',
      () => change(2, () => ({ response: other(1).response })),
      /the response is that of/,
    ],
    [
      'a response that is not JSON',
      () => change(1, () => ({ response: bytesOf('x').subarray(1) })),
      /cannot be read/,
    ],
    [
      'a missing result',
      () => response(1, ({ results }) => ({ results: results.slice(1) })),
      /has 1 results instead of 2/,
    ],
    [
      'results in another order',
      () => response(2, ({ results }) => ({ results: results.toReversed() })),
      /not the post/,
    ],
    [
      'wrong counts',
      () => response(2, ({ counts }) => ({ counts: { ...counts, waiting: 3 } })),
      /counts 3 waiting/,
    ],
    [
      'weights that were not in force',
      () => change(1, () => ({ weightsVersion: 'w9' })),
      /the weights in force were initial/,
    ],
    [
      'readings of another cycle',
      () =>
        tables(0, ({ scored }) => ({
          scored: firstOf(scored),
        })),
      /the record of texts and images has different rows/,
    ],
    [
      'the record of another cycle',
      () => change(1, () => ({ record: other(0).record })),
      /the posts of the record differ from the request/,
    ],
    [
      'another head',
      () => tables(2, ({ heads }) => ({ heads: { ...heads, p_up: new Float32Array(heads.count) } })),
      /the record has different scores from the response/,
    ],
    [
      'a response with a different score from the record',
      () => response(2, ({ results }) => ({ results: results.map((row) => ({ ...row, score: 0.125 })) })),
      /the record has different scores from the response/,
    ],
    [
      'a response with a different outcome from the record',
      () =>
        response(2, ({ results, counts }) => ({
          counts: { ...counts, scored_now: 1, waiting: 1 },
          results: results.map((row, index) => (index === 0 ? { ...row, status: 'waiting' } : row)),
        })),
      /the record has different results from the response/,
    ],
    [
      'a response with other warnings than the record',
      () => response(2, () => ({ warnings: ['late cycle: not so'] })),
      /the record has different warnings from the response/,
    ],
    [
      'a record with other counters',
      () => change(2, () => ({ record: variant.record })),
      /the rows of the record differ from the request/,
    ],
    [
      'a record that does not unpack',
      () => change(1, () => ({ record: Uint8Array.of(1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 7) })),
      /position 2/,
    ],
    [
      'a request that does not unpack',
      () =>
        change(1, ({ request }) => ({
          request: { ...request, bytes: request.bytes.subarray(1) },
          json: new Uint8Array(),
        })),
      /position 2/,
    ],
  ])('%s', async (_, damage, expected) => {
    expect(await problemsOf(await storeOf(records, weights, saved))).toEqual([])
    damage()
    expect((await problemsOf(await storeOf(records, weights, saved))).join('\n')).toMatch(expected)
  })
})

test('verification reports a damaged record of an expired cycle', async () => {
  const cycles = [0, 1, 2].map((index) =>
    cycleBody(index, {
      candidates: [candidate('g', index + 1)],
      engagement: [reading('g', index + 1, cycleMs(index))],
    }),
  )
  const served3 = await served(cycles)
  const records = recordsOf(served3)
  for (const damage of [null, (bytes: Uint8Array) => bytes.slice(0, -4), () => Uint8Array.of(9, 9, 9, 9)]) {
    const [first, ...others] = records as [CycleContents, ...CycleContents[]]
    const record = damage === null ? first.record : damage(first.record)
    const store = await storeOf(
      [{ ...first, record }, ...others],
      [...served3.listWeights()],
      savedPoolOf(served3),
    )
    await store.expiry.removeCycles([{ position: 1, keepEntry: true }])
    const problems = await problemsOf(store)
    if (damage === null) expect(problems).toEqual([])
    else
      expect(problems).toEqual([
        expect.stringMatching(/^cycle 20240301T0000 \(expired\): the record cannot be read: /),
      ])
  }
})

test('verification reports a changed request that is kept for a pending post of an expired cycle', async () => {
  const cycles = [0, 1].map((index) => cycleBody(index, { candidates: [candidate('g', index + 1)] }))
  const service = await served(cycles)
  const [first, ...others] = recordsOf(service) as [CycleContents, ...CycleContents[]]
  const json = bytesOf(cycles[0])
  const changed = bytesOf(cycleBody(0, { candidates: [candidate('g', 1, { title: 'another' })] }))
  for (const bytes of [json, changed]) {
    // The hashes are those of `json`.
    const request = { encoding: 'identity', bytes, bodyBytes: bytes.length } as const
    const store = await storeOf(
      [{ ...first, request, requestSha256: hash('sha256', json) }, ...others],
      [...service.listWeights()],
      savedPoolOf(service),
    )
    await store.expiry.removeCycles([{ position: 1, keepEntry: true }])
    const expected = bytes === json ? [] : ['cycle 20240301T0000 (expired): the request has another hash']
    expect(await problemsOf(store)).toEqual(expected)
  }
})
