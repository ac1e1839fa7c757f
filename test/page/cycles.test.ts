/** Cycles: each column and fact of a call and of a stored cycle is that of its label; lists longer than a response are whole. */
import { describe, expect, test } from 'vitest'
import type { CallRecord } from '../../src/contract/index.js'
import { browserMissing } from '../helpers/browser.js'
import { callFixture, storedFixture } from '../helpers/page-fixtures.js'
import {
  attributesOf,
  badgesOf,
  Failure,
  factsOf,
  pageLane,
  stylesOf,
  textOf,
  textsOf,
  type Responses,
} from '../helpers/page-lane.js'

const tooBusy = new Failure(503, 'too busy')

/** The counts of both fixtures, as the page shows them. */
const countFacts = {
  Candidates: '801',
  Engagement: '802',
  'Candidate scores': '803',
  Removals: '804',
  'Scored now': '805',
  Waiting: '806',
  'Not scored': '807',
  Results: '808',
}

const nothing = { counts: null, warnings: [], is_late: false, model_version: null, weights_version: null }
const refused: CallRecord = {
  ...callFixture,
  ...nothing,
  id: 72,
  status: 422,
  result: 'refused',
  code: 'unprocessable',
  ms: 3.25,
  problem: {
    reason: { code: 'wrong_times', unlisted: 0 },
    field: { path: 'cycle_time', problem: 'must not be in the future' },
  },
  cycle_id: null,
  stages_ms: {},
  at: '2026-03-02T04:01:09Z',
}

describe.skipIf(browserMissing)('Cycles', () => {
  const lane = pageLane()

  const show = (items: readonly CallRecord[], more: Responses = {}): Promise<void> =>
    lane.show('cycles', { '/cycles': { instance: 'i', is_last: true, items }, ...more })
  const rows = () => lane.page.locator('.rows-body > .row')
  const button = (name: string) => lane.page.getByRole('button', { name, exact: true })
  const filterBy = (result: string) =>
    lane.page.getByRole('combobox', { name: 'Result' }).selectOption(result)
  const callDetails = () => lane.page.getByRole('complementary', { name: 'Details of the call' })
  const storedDetails = () => lane.page.getByRole('complementary', { name: 'Details of the stored cycle' })

  describe('the calls', () => {
    test('have their columns, and are counted', async () => {
      await show([refused, callFixture])
      expect(await lane.rowsOf('Calls, newest first')).toEqual([
        {
          Time: '03-02 13:01:09',
          Cycle: 'POST /v1/cycles',
          Took: '3.25 ms',
          Stages: '',
          Result: 'refused 422 cycle_time: must not be in the future',
          Scored: '–',
          Waiting: '–',
          'Not scored': '–',
          Model: '–',
        },
        {
          Time: '03-02 12:57:08',
          Cycle: '20260302T1255',
          Took: '196 ms',
          Stages: '',
          Result: 'scored late 2 warnings',
          Scored: '805',
          Waiting: '806',
          'Not scored': '807',
          Model: 'model-5',
        },
      ])
      expect(await textOf(lane.page.locator('.list-note'))).toBe('2 calls')
    })

    test('have a badge for each result', async () => {
      const results = ['scored', 'repeated', 'done', 'refused', 'failed', 'aborted'] as const
      await show(results.map((result, i) => ({ ...callFixture, ...nothing, id: 90 - i, result })))
      expect(await badgesOf(lane.table('Calls, newest first'))).toEqual([
        ...['ok scored', 'plain repeated', 'ok done', 'warn refused', 'fail failed', 'fail aborted'],
      ])
    })

    test('have their status before the reason, unless no response was sent', async () => {
      const problem = { reason: { code: 'disconnected' }, field: null } as const
      const result = 'failed'
      await show(
        [503, 0].map((status, i) => ({ ...callFixture, ...nothing, id: 90 - i, result, status, problem })),
      )
      const why = (await lane.rowsOf('Calls, newest first')).map(({ Result }) => Result)
      expect(why).toEqual(['failed 503 the client disconnected', 'failed the client disconnected'])
    })

    test('of each filter are those of its name', async () => {
      const call = (cycle_id: string, change: Partial<CallRecord>): CallRecord => ({
        ...callFixture,
        ...nothing,
        cycle_id,
        ...change,
      })
      const results = ['repeated', 'refused', 'failed', 'aborted'] as const
      const calls = [
        call('scored', {}),
        call('late', { is_late: true }),
        call('warned', { warnings: [{ code: 'late_cycle', count: null, detail: 'w' }] }),
        ...results.map((result) => call(result, { result })),
      ]
      await show(calls.map((one, i) => ({ ...one, id: 99 - i })))
      for (const [filter, expected] of Object.entries({
        scored: ['scored', 'late', 'warned'],
        late: ['late'],
        warned: ['warned'],
        repeated: ['repeated'],
        refused: ['refused'],
        failed: ['failed', 'aborted'],
        all: ['scored', 'late', 'warned', 'repeated', 'refused', 'failed', 'aborted'],
      })) {
        await filterBy(filter)
        expect(await textsOf(lane.page.locator('.row-link'))).toEqual(expected)
      }
      await show([callFixture])
      await filterBy('failed')
      await lane.page.getByText('No call matches.').waitFor()
      expect(await textOf(lane.page.locator('.list-note'))).toBe('0 of 1 call')
    })

    test('are read page by page, and a filter looks through all of them', async () => {
      const items = Array.from({ length: 430 }, (_, i) => ({
        ...(i === 429 ? callFixture : refused),
        id: 430 - i,
      }))
      const cycles = (query: URLSearchParams): object => {
        const before = Number(query.get('before') ?? 1000)
        const page = items.filter(({ id }) => id < before).slice(0, Number(query.get('limit')))
        return { instance: 'i', items: page, is_last: page.at(-1)?.id === 1 }
      }
      await lane.show('cycles', { '/cycles': cycles })
      expect(await textOf(lane.page.locator('.list-note'))).toBe('430 calls')
      await filterBy('scored')
      expect(await rows().count()).toBe(1)
    })

    test('appear when they happen, and those of another process replace all', async () => {
      await show([callFixture])
      await lane.send('call', { ...callFixture, id: 72, cycle_id: '20260302T1300', instance: 'i' })
      expect(await textsOf(lane.page.locator('.row-link'))).toEqual(['20260302T1300', '20260302T1255'])
      await lane.page.locator('.row-link').first().click()
      await callDetails().waitFor()
      await lane.send('call', { ...callFixture, id: 1, cycle_id: '20260302T1305', instance: 'other' })
      expect(await textsOf(lane.page.locator('.row-link'))).toEqual(['20260302T1305'])
      expect(await callDetails().count()).toBe(0)
    })
  })

  test('each stage has a colour of its own, which the legend names', async () => {
    await show([callFixture])
    const legend = lane.page.getByRole('list', { name: 'Stages' })
    expect(new Set(await stylesOf(legend.locator('.swatch'), 'background')).size).toBe(9)
    expect(await textsOf(legend.getByRole('listitem'))).toEqual([
      ...['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit', 'send'],
    ])
  })

  describe('the details of a call', () => {
    const open = async (call: CallRecord): Promise<void> => {
      await show([call])
      await lane.page.locator('.row-link').click()
      await callDetails().waitFor()
    }

    test('have their facts, the time of each stage and the rows of each list', async () => {
      await open(callFixture)
      const section = (heading: string) =>
        callDetails()
          .locator('section')
          .filter({ has: lane.page.getByRole('heading', { name: heading }) })
      expect(await factsOf(callDetails())).toMatchObject({
        Arrived: '2026-03-02 12:57:08',
        Operation: 'POST /v1/cycles',
        Result: 'scored, late',
        Status: '200',
        Took: '196 ms',
        Model: 'model-5',
        Weights: 'weights-6',
        Request: '5.0 MiB',
        Response: '3.0 KiB',
        Trace: 'trace-9',
      })
      expect(await factsOf(section('Stages'))).toEqual({
        Receive: '21.0 ms',
        Decode: '22.0 ms',
        Wait: '23.0 ms',
        Plan: '24.0 ms',
        Features: '25.0 ms',
        Infer: '26.0 ms',
        Encode: '27.0 ms',
        Commit: '28.0 ms',
      })
      expect(await factsOf(section('Rows'))).toEqual(countFacts)
      expect(await textsOf(callDetails().locator('.warnings li'))).toEqual([
        ...['late cycle: w1', 'unknown field (3): w2'],
      ])
    })

    test('draw each stage in proportion to its time, in the colour of the charts', async () => {
      await open(callFixture)
      const parts = callDetails().locator('.bar span')
      const [names, sizes] = [await attributesOf(parts, 'title'), await stylesOf(parts, 'flex-grow')]
      const colors = await stylesOf(parts, 'background')
      expect(names.map((name, i) => `${name} ${sizes[i]} ${colors[i]}`)).toEqual(
        ['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit'].map(
          (name, i) => `${name} ${21 + i} var(--color-${1 + i})`,
        ),
      )
    })

    test('have the code and the problem of a refusal', async () => {
      const notice = () => textOf(callDetails().locator('.notice'))
      await open(refused)
      expect(await notice()).toBe(
        'unprocessable the cycle is well-formed, but its times are wrong cycle_time: must not be in the future',
      )
      const problem = { reason: { code: 'large_body', bytes_max: 12 }, field: null } as const
      await open({ ...refused, problem })
      expect(await notice()).toBe('unprocessable the body is larger than 12 bytes')
      await open({ ...callFixture, status: 0, result: 'aborted' })
      expect((await factsOf(callDetails()))['Status']).toBe('the client disconnected')
    })

    test('offer the request and the response of scored and repeated cycles alone', async () => {
      const offers = async (change: Partial<CallRecord>): Promise<string[]> => {
        await open({ ...callFixture, ...change })
        return attributesOf(callDetails().locator('a[download]'), 'href')
      }
      const both = ['/api/cycles/20260302T1255/request', '/api/cycles/20260302T1255/response']
      expect(await offers({})).toEqual(both)
      expect(await offers({ result: 'repeated' })).toEqual(both)
      expect(await offers({ result: 'refused' })).toEqual([])
    })

    test('are closed by Escape', async () => {
      await open(callFixture)
      await lane.page.keyboard.press('Escape')
      await callDetails().waitFor({ state: 'detached' })
    })
  })

  describe('the stored cycles', () => {
    const stored = (position: number) => ({
      position,
      cycleId: `20260302T12${10 + position}`,
      receivedAt: `2026-03-02T03:${10 + position}:21Z`,
      modelVersion: `m-${position}`,
      weightsVersion: `w-${position}`,
    })
    /** The other lists are those of the fixtures. */
    const storedIs = (answer: object | ((query: URLSearchParams) => object)): Responses => ({
      '/cycles': (query: URLSearchParams) => {
        if (query.get('list') !== 'stored') return undefined
        return { instance: 'i', ...(answer instanceof Function ? answer(query) : answer) }
      },
    })
    const open = async (responses: Responses): Promise<void> => {
      await lane.show('cycles', responses)
      await button('Stored').click()
      await lane.read()
    }

    test('have their columns, newest first', async () => {
      const items = [stored(9), stored(8), stored(7)]
      await open(storedIs({ items, is_last: true, oldest: 7, newest: 9 }))
      const row = (n: number) => ({
        Cycle: `20260302T12${10 + n}`,
        Arrived: `2026-03-02 12:${10 + n}:21`,
        Model: `m-${n}`,
        Weights: `w-${n}`,
        Download: `Request of 20260302T12${10 + n} Response of 20260302T12${10 + n}`,
      })
      expect(await lane.rowsOf('Stored cycles, newest first')).toEqual([row(9), row(8), row(7)])
      expect(await textOf(lane.page.locator('.list-note'))).toBe('3 stored cycles')
      expect(await attributesOf(rows().first().locator('a'), 'href')).toEqual([
        ...['/api/cycles/20260302T1219/request', '/api/cycles/20260302T1219/response'],
      ])
    })

    test('have their details', async () => {
      await open({ '/cycles/20260302T1255': storedFixture })
      await button('20260302T1255').click()
      await storedDetails().getByText('Stages are known only').waitFor()
      expect(await factsOf(storedDetails())).toEqual({
        Arrived: '2026-03-02 12:55:31',
        Scored: '2026-03-02 12:55:32',
        Model: 'model-5',
        Weights: 'weights-6',
        'Missing features': '8.3%',
        ...countFacts,
        '· Missing title': '809',
      })
      expect(await textsOf(storedDetails().locator('.warnings li'))).toEqual(['late cycle: w1'])
    })

    test('are read by position, each once, and only the visible rows exist', async () => {
      // The oldest one is alone in its block.
      const [oldest, newest] = [99, 5098]
      const asked: number[] = []
      const cycles = (query: URLSearchParams): object => {
        const before = Number(query.get('before') ?? newest + 1)
        const end = Math.min(before, newest + 1)
        const first = Math.max(oldest, end - 100)
        asked.push(before)
        const items = Array.from({ length: end - first }, (_, i) => ({
          ...stored(0),
          position: end - 1 - i,
          cycleId: `cycle ${end - 1 - i}`,
        }))
        return { items, is_last: first <= oldest, oldest, newest }
      }
      await open(storedIs(cycles))
      const table = lane.table('Stored cycles, newest first')
      expect(await table.getAttribute('aria-rowcount')).toBe('5001')
      expect(await textOf(lane.page.locator('.list-note'))).toBe('5,000 stored cycles')
      for (let index = 0; index < 5000; index += 500) {
        await lane.page.evaluate(`document.querySelector('.scroller').scrollTop = ${index} * 44`)
        await table
          .locator(`[data-index="${index}"]`)
          .getByText(`cycle ${newest - index}`, { exact: true })
          .waitFor()
        expect(await rows().count()).toBeLessThan(60)
      }
      await lane.page.evaluate("document.querySelector('.scroller').scrollTop = 1e7")
      await table.locator('[data-index="4999"]').getByText(`cycle ${oldest}`, { exact: true }).waitFor()
      // Blocks are exclusive of each other, and what has been read is not read again.
      const blocks = asked.filter((before) => before <= newest)
      expect(blocks.every((before) => before % 100 === 0)).toBe(true)
      expect(new Set(blocks).size).toBe(blocks.length)
    })
  })

  test('each list says that it is empty, or why it cannot be read, and reads it later', async () => {
    const empty = { instance: 'i', items: [], is_last: true, oldest: 1, newest: 0 }
    await lane.show('cycles', { '/cycles': empty })
    await lane.page.getByText('No call since the service started.').waitFor()
    await button('Other refusals').click()
    await lane.page.getByText('No call since the service started.').waitFor()
    await button('Stored').click()
    await lane.page.getByText('The store has no cycle.').waitFor()
    await lane.show('cycles', { '/cycles': tooBusy })
    await lane.page.getByText('No calls: too busy').waitFor()
    await button('Stored').click()
    await lane.page.getByText('No stored cycles: too busy').waitFor()
    lane.respond({ '/cycles': empty })
    await lane.page.getByText('The store has no cycle.').waitFor()
  })
})
