/** Cycles: each column and fact of a call and of a stored cycle is that of its label. All values of the fixtures differ. */
import '../../../test/helpers/page-globals.js'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { callFixture, storedFixture } from '../../../test/helpers/page-fixtures.js'
import { plainRows } from '../../../test/helpers/page-rows.js'
import { responses } from '../../../test/helpers/page-queries.js'
import {
  badgesOf,
  elementsOf,
  factsOf,
  labelled,
  rowsOf,
  textOf,
} from '../../../test/helpers/rendered-page.js'
import { setLanguage } from '../messages/index.js'
import type { Call } from '../service/api.js'
import { CallDetails, StoredDetails } from './call-details.js'
import { Cycles, filters } from './cycles.js'
import { StoredCycles } from './stored-cycles.js'

const recorded: { items: Call[] } = { items: [] }

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))
vi.mock('../parts/virtual-table.js', () => plainRows(h))
vi.mock('../service/calls.js', () => ({
  useCalls: () => ({ instance: 'i', items: recorded.items, isRead: true, error: null }),
}))

beforeEach(() => {
  responses.clear()
  setLanguage('en')
})

/** The counts of both fixtures, as the page shows them. */
const countFacts = {
  candidates: '801',
  engagement: '802',
  'candidate scores': '803',
  removals: '804',
  'scored now': '805',
  waiting: '806',
  'not scored': '807',
  results: '808',
}

const nothing = { counts: null, warnings: [], is_late: false, model_version: null, weights_version: null }
const refused: Call = {
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

describe('the calls', () => {
  const html = (items: Call[]): string => {
    recorded.items = items
    return renderToString(<Cycles />)
  }

  test('have their columns', () => {
    expect(rowsOf(html([refused, callFixture]), 'Calls, newest first')).toEqual([
      {
        Time: '03-02 13:01:09',
        Cycle: 'POST /v1/cycles',
        Took: '3.25 ms',
        Stages: '',
        Result: 'refused422 cycle_time: must not be in the future',
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
        Result: 'scoredlate2 warnings',
        Scored: '805',
        Waiting: '806',
        'Not scored': '807',
        Model: 'model-5',
      },
    ])
  })

  test('have a badge for each result', () => {
    const results = ['scored', 'repeated', 'done', 'refused', 'failed', 'aborted'] as const
    const calls = results.map((result): Call => ({ ...callFixture, ...nothing, result }))
    expect(badgesOf(html(calls))).toEqual([
      ...['ok scored', 'plain repeated', 'ok done', 'warn refused', 'fail failed', 'fail aborted'],
    ])
  })

  test('have their status before the reason, unless no response was sent', () => {
    const reasonOf = (status: number): string => {
      const problem = { reason: { code: 'disconnected' }, field: null } as const
      const page = html([{ ...callFixture, ...nothing, result: 'failed', status, problem }])
      return textOf(/<span class="clip muted"[^]*?<\/span>/.exec(page)![0])
    }
    expect([503, 0].map(reasonOf)).toEqual(['503 the client disconnected', 'the client disconnected'])
  })

  test('are counted', () => {
    expect(textOf(html([refused, callFixture]))).toContain(' 2 calls')
  })

  test.each([
    ['all', ['scored', 'late', 'warned', 'repeated', 'refused', 'failed', 'aborted']],
    ['scored', ['scored', 'late', 'warned']],
    ['late', ['late']],
    ['warned', ['warned']],
    ['repeated', ['repeated']],
    ['refused', ['refused']],
    ['failed', ['failed', 'aborted']],
  ] as const)('of the filter %s are %j', (name, expected) => {
    const call = (change: Partial<Call>): Call => ({ ...callFixture, ...nothing, ...change })
    const calls: Readonly<Record<string, Call>> = {
      scored: call({}),
      late: call({ is_late: true }),
      warned: call({ warnings: [{ code: 'late_cycle', count: null, detail: 'w' }] }),
      ...Object.fromEntries(
        (['repeated', 'refused', 'failed', 'aborted'] as const).map((result) => [result, call({ result })]),
      ),
    }
    expect(Object.keys(calls).filter((key) => filters[name](calls[key]!))).toEqual(expected)
  })
})

test('each stage has a colour of its own, which the legend names', () => {
  recorded.items = [callFixture]
  const legend = labelled(renderToString(<Cycles />), 'Stages')
  const colors = [...legend.matchAll(/--color-(\d)/g)].map(([, color]) => color)
  expect(colors).toHaveLength(9)
  expect(new Set(colors).size).toBe(9)
  expect(elementsOf(legend, 'li').map(textOf)).toEqual([
    ...['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit', 'send'],
  ])
})

describe('the details of a call', () => {
  const html = (call: Call): string => renderToString(<CallDetails call={call} onClose={() => undefined} />)

  test('have their facts, the time of each stage and the rows of each list', () => {
    const [facts = '', stages = '', rows = ''] = elementsOf(html(callFixture), 'dl')
    expect(factsOf(facts)).toEqual({
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
    expect(factsOf(stages)).toEqual({
      receive: '21.0 ms',
      decode: '22.0 ms',
      wait: '23.0 ms',
      plan: '24.0 ms',
      features: '25.0 ms',
      infer: '26.0 ms',
      encode: '27.0 ms',
      commit: '28.0 ms',
    })
    expect(factsOf(rows)).toEqual(countFacts)
    expect(elementsOf(html(callFixture), 'li').map(textOf)).toEqual([
      'late cycle: w1',
      'unknown field (3): w2',
    ])
    setLanguage('ko')
    expect(elementsOf(html(callFixture), 'li').map(textOf)).toEqual([
      '늦게 도착한 cycle: w1',
      '알 수 없는 필드 (3): w2',
    ])
  })

  test('draw each stage in proportion to its time, in the colour of the charts', () => {
    const bar = /<div class="bar".*?<\/div>/s.exec(html(callFixture))?.[0] ?? ''
    const parts = [
      ...bar.matchAll(/style="flex-grow:\s*(\d+);\s*background:\s*var\(--color-(\d)\);?" title="(\w+)"/g),
    ]
    expect(parts.map(([, size, color, name]) => `${name} ${size} ${color}`)).toEqual([
      ...['receive 21 1', 'decode 22 2', 'wait 23 3', 'plan 24 4', 'features 25 5', 'infer 26 6'],
      ...['encode 27 7', 'commit 28 8'],
    ])
  })

  test('have the code and the problem of a refusal, and the requests of scored and repeated cycles alone', () => {
    const notice = (call: Call): string => textOf(elementsOf(html(call), 'p')[0] ?? '')
    expect(notice(refused)).toBe(
      'unprocessable the cycle is well-formed, but its times are wrongcycle_time: must not be in the future',
    )
    setLanguage('ko')
    expect(notice(refused)).toBe(
      'unprocessable cycle의 시각이 올바르지 않습니다cycle_time: must not be in the future',
    )
    const large: Call = {
      ...refused,
      problem: { reason: { code: 'large_body', bytes_max: 12 }, field: null },
    }
    expect(notice(large)).toBe('unprocessable 본문이 12바이트보다 큽니다')
    setLanguage('en')
    const offers = (change: Partial<Call>): boolean =>
      html({ ...callFixture, ...change }).includes('/api/cycles/20260302T1255/request"')
    expect(offers({})).toBe(true)
    expect(offers({ result: 'repeated' })).toBe(true)
    expect(offers({ result: 'refused' })).toBe(false)
    expect(factsOf(html({ ...callFixture, status: 0, result: 'aborted' }))['Status']).toBe(
      'the client disconnected',
    )
  })
})

describe('stored cycles', () => {
  const stored = (position: number) => ({
    position,
    cycleId: `20260302T12${10 + position}`,
    receivedAt: `2026-03-02T03:${10 + position}:21Z`,
    modelVersion: `m-${position}`,
    weightsVersion: `w-${position}`,
  })

  test('have their columns, newest first', () => {
    responses.set('/api/cycles', {
      instance: 'i',
      items: [stored(9), stored(8), stored(7)],
      is_last: true,
      oldest: 7,
      newest: 9,
    })
    const html = renderToString(<StoredCycles choice={null} />)
    const row = (n: number) => ({
      Cycle: `20260302T12${10 + n}`,
      Arrived: `2026-03-02 12:${10 + n}:21`,
      Model: `m-${n}`,
      Weights: `w-${n}`,
      Download: `Request of 20260302T12${10 + n} Response of 20260302T12${10 + n}`,
    })
    expect(rowsOf(html, 'Stored cycles, newest first')).toEqual([row(9), row(8), row(7)])
    expect(textOf(html)).toContain('3 stored cycles')
    expect(html).toContain('href="/api/cycles/20260302T1219/response"')
  })

  test('have their details', () => {
    responses.set('/api/cycles/20260302T1255', storedFixture)
    const html = renderToString(<StoredDetails cycleId="20260302T1255" onClose={() => undefined} />)
    const [facts = '', rows = ''] = elementsOf(labelled(html, 'Details of the stored cycle'), 'dl')
    expect(factsOf(facts)).toEqual({
      Arrived: '2026-03-02 12:55:31',
      Scored: '2026-03-02 12:55:32',
      Model: 'model-5',
      Weights: 'weights-6',
      'Missing features': '8.3%',
    })
    expect(factsOf(rows)).toEqual({
      ...countFacts,
      '· missing title': '809',
    })
    expect(elementsOf(html, 'li').map(textOf)).toEqual(['late cycle: w1'])
  })
})
