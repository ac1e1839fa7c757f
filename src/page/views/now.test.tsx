/** Now: each figure, badge and time is that of its label. All values of the fixture differ. */
import '../../../test/helpers/page-globals.js'
import { renderToString } from 'preact-render-to-string'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { badgesOf, elementsOf, labelled, textOf, tileOf } from '../../../test/helpers/rendered-page.js'
import { nowFixture, pointFixture } from '../../../test/helpers/page-fixtures.js'
import { setLanguage } from '../messages/index.js'
import type { Now } from '../service/api.js'
import { setServerTime } from '../service/clock.js'
import { PointCharts } from './now-charts.js'
import { NowView } from './now.js'

vi.mock('../service/query.js', () => import('../../../test/helpers/page-queries.js'))

const second = 1000
const timeMs = Date.parse(nowFixture.time)

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  setServerTime(timeMs)
  setLanguage('en')
  return () => vi.useRealTimers()
})

function render(change: Partial<Now> = {}): string {
  const data = { ...nowFixture, ...change }
  return renderToString(<NowView query={{ data, error: null, loadedAtMs: 0 }} />)
}

test('each tile has its figures', () => {
  const html = render()
  expect(tileOf(html, 'Last cycle')).toEqual({
    figure: '03-02 12:55',
    Arrived: '4 min ago',
    Took: '1.23 s',
    'Next due': '13:00, 10 s ago',
  })
  expect(tileOf(html, 'Pending posts')).toEqual({
    figure: '4,321',
    Scored: '4,100',
    Waiting: '120',
    'Not scored': '101',
    '· missing title': '61',
    '· post unavailable': '40',
  })
  expect(tileOf(html, 'First scores on time')).toEqual({
    figure: '97.5% target 99%',
    'On time': '1,950',
    Late: '21',
    Overdue: '17',
    'Left without one': '12',
    Counted: 'since 11:00 KST',
  })
  expect(tileOf(html, 'Model in force')).toEqual({
    figure: 'serving-7',
    Kind: 'trained',
    'Runs on': 'cpu',
    Shadows: 'shadow-8, shadow-9',
    Weights: 'weights-3',
    Service: '0.9.1',
  })
  expect(tileOf(html, 'Machine')).toEqual({
    figure: '5.0 GiB disk free',
    Data: '3.0 GiB',
    Memory: '700 MiB',
    'Cycles queued': '2 of 5',
    'To encode': '31 texts, 1 image',
    Started: '2 h ago',
  })
})

test('the parts of a bar have the sizes of their names', () => {
  const partsOf = (title: string): string[][] =>
    [...labelled(render(), title).matchAll(/flex-grow:\s*(\d+)[^>]*title="([^"]*)"/g)].map(
      ([, size = '', name = '']) => [name, size],
    )
  expect(partsOf('Pending posts')).toEqual([
    ['Scored', '4100'],
    ['Waiting', '120'],
    ['Not scored', '101'],
  ])
  expect(partsOf('First scores on time')).toEqual([
    ['On time', '1950'],
    ['Late', '21'],
    ['Overdue', '17'],
    ['Left without one', '12'],
  ])
})

test('each check has its state and its reason', () => {
  const checks = elementsOf(labelled(render(), 'Health checks'), 'li')
  expect(checks.map((html) => [textOf(html), ...badgesOf(html)])).toEqual([
    ['service ok the service accepts cycles', 'ok ok'],
    ['model warning a model serves; v-bad failed to load: no file', 'warn warning'],
    ['storage ok storage accepts writes', 'ok ok'],
    ['last cycle failed arrived 4 min ago', 'fail failed'],
    ['disk ok 5.0 GiB free', 'ok ok'],
  ])
  setLanguage('ko')
  expect(textOf(elementsOf(labelled(render(), '상태 점검'), 'li')[1] ?? '')).toBe(
    '모델 주의 모델 이상: 모델이 점수를 내고 있음; v-bad 버전을 불러오지 못했습니다(no file)',
  )
})

const dueMs = Date.parse(nowFixture.next_cycle?.due_at ?? '')

test('an overdue cycle is a warning of its own, beside the check of the last cycle, which the service decides', () => {
  const shown = (status: 'ok' | 'warn', afterMs: number): string[] => {
    setServerTime(dueMs + afterMs)
    const checks = nowFixture.checks.map((check) => ({ ...check, status }))
    const lines = elementsOf(labelled(render({ checks }), 'Health checks'), 'li').map(textOf)
    return lines.filter((line) => / cycle /.test(line))
  }
  expect(shown('ok', 60 * second)).toEqual(['last cycle ok arrived 5 min ago'])
  expect(shown('ok', 61 * second)).toEqual([
    'last cycle ok arrived 5 min ago',
    'next cycle warning 1 min overdue',
  ])
  expect(shown('warn', 16 * 60 * second)).toEqual([
    'last cycle warning arrived 20 min ago',
    'next cycle warning 16 min overdue',
  ])
})

describe('the next cycle', () => {
  const due = (afterMs: number, change: Partial<Now> = {}): [string, string[]] => {
    setServerTime(dueMs + afterMs)
    const tile = labelled(render(change), 'Last cycle')
    return [tileOf(tile, 'Last cycle')['Next due'] ?? '', badgesOf(tile)]
  }

  test('is due at its time, and overdue from one minute after it', () => {
    expect(due(-90 * second)).toEqual(['13:00, in 1 min', []])
    expect(due(59 * second)).toEqual(['13:00, 59 s ago', []])
    expect(due(60 * second)).toEqual(['13:00, 1 min ago', []])
    expect(due(61 * second)).toEqual(['1 min overdue', ['warn 1 min overdue']])
    expect(due(125 * 60 * second)).toEqual(['2 h 5 min overdue', ['warn 2 h 5 min overdue']])
  })

  test('is never overdue if the cycles are of another time', () => {
    const next_cycle = { due_at: new Date(dueMs).toISOString(), overdue_from: null }
    expect(due(10 * 60 * second, { next_cycle })).toEqual(['13:00', []])
  })

  test('has no time without a cycle', () => {
    expect(due(0, { next_cycle: null })).toEqual(['–', []])
  })
})

test('until the first cycle arrives, one card has the command that sends one, and no tile is without figures', () => {
  const command = 'understudy simulate --data-dir /srv/data'
  const html = render({ last_cycle: null, last_cycle_id: null, first_cycle_command: command })
  expect(textOf(labelled(html, 'No cycle has arrived yet'))).toContain(command)
  for (const tile of ['Last cycle', 'Pending posts', 'First scores on time'])
    expect(html).not.toContain(`aria-label="${tile}"`)
  expect(labelled(html, 'Model in force')).toBeDefined()
})

test('the share on time is green from the target on, red below it, and grey without posts', () => {
  const classOf = (share: number | null): string | undefined => {
    const first_scores = { ...nowFixture.first_scores, share }
    const tile = labelled(render({ first_scores }), 'First scores on time')
    return /<p class="figure"><span class="([^"]*)"/.exec(tile)?.[1]
  }
  expect([0.99, 0.9899, null].map(classOf)).toEqual(['text-ok', 'text-fail', 'muted'])
})

test('counts of first scores are those since the start, and of 24 hours from then on', () => {
  const counted = (hours: number): string | undefined => {
    setServerTime(Date.parse(nowFixture.started_at) + hours * 3600 * second)
    return tileOf(render(), 'First scores on time')['Counted']
  }
  expect([23.99, 24].map(counted)).toEqual(['since 11:00 KST', 'last 24 h'])
})

test('no model, and a transport test, are marked', () => {
  const model = { version: 'serving-7', kind: 'transport-test', provider: 'cpu' }
  const tile = (change: Partial<Now>): string => labelled(render(change), 'Model in force')
  expect(badgesOf(tile({ model }))).toEqual(['warn scores have no meaning'])
  expect(badgesOf(tile({}))).toEqual([])
  expect(tileOf(render({ model: null }), 'Model in force')).toMatchObject({
    figure: 'none',
    Kind: '–',
    'Runs on': '–',
  })
  expect(tile({ model: null })).toContain('<span class="text-fail">')
  expect(tileOf(render({ shadows: [] }), 'Model in force')['Shadows']).toBe('none')
})

describe('a version that failed to load', () => {
  const notices = (change: Partial<Now> = {}): string[] =>
    elementsOf(render(change), 'section')
      .filter((html) => html.includes('failed: '))
      .map(textOf)

  test('has its role, its time, its problem, what serves instead, and its commands', () => {
    const [active = '', shadow = ''] = notices()
    expect(active).toContain('Activation failed: v-bad, 2026-03-02 12:31 KST. no such file')
    expect(active).toContain('serving-7 keeps serving.')
    expect(active).toContain('or to stay with the version that serves')
    expect(active).toMatch(/verify v-bad activate serving-7$/)
    expect(shadow).toContain('Shadow failed: s-bad, 2026-03-02 12:32 KST. bad graph')
    expect(shadow).not.toContain('serving')
    expect(shadow).toMatch(/verify s-bad$/)
  })

  test('leaves no model if none serves', () => {
    expect(notices({ model: null })[0]).toContain('No model is serving: cycles get 503.')
  })
})

test('a version that failed its cycles has its time, its problem, what serves instead, and its commands', () => {
  const failed = {
    version: 'v-worse',
    kind: 'cycles',
    role: 'active',
    problem: 'no memory',
    at: '2026-03-02T03:33:00.000Z',
    commands: ['verify v-worse', 'activate serving-7'],
  } as const
  const notice = (change: Partial<Now> = {}): string =>
    textOf(labelled(render({ failed_versions: [failed], ...change }), 'v-worse failed its cycles'))
  expect(notice()).toBe(
    'Model failed: v-worse, 2026-03-02 12:33 KST. no memory ' +
      'serving-7, which served before, serves instead until a version is activated. ' +
      'To see every check of the package, or to stay with the version that serves: verify v-worse activate serving-7',
  )
  expect(notice({ model: null })).toContain('No model is serving: cycles get 503.')
})

describe('the charts', () => {
  const chart = (title: string): [label: string, legend: string[]] => {
    const html = renderToString(
      <PointCharts points={[pointFixture(0), pointFixture(1)]} startedAt={nowFixture.started_at} />,
    )
    const figure = elementsOf(html, 'figure').find((one) => one.includes(`<h3>${title}</h3>`)) ?? ''
    return [/aria-label="([^"]*)"/.exec(figure)?.[1] ?? '', elementsOf(figure, 'li').map(textOf)]
  }

  test('have the values of the newest cycle by their names', () => {
    expect(chart('Latency by stage')[1]).toEqual([
      ...['receive 11.0 ms', 'decode 12.0 ms', 'wait 13.0 ms', 'plan 14.0 ms', 'features 15.0 ms'],
      ...['infer 16.0 ms', 'encode 17.0 ms', 'commit 18.0 ms'],
    ])
    expect(chart('Results')[1]).toEqual([
      ...['scored 4,101', 'waiting 121', 'missing title 62', 'post unavailable 41'],
    ])
    expect(chart('Score quantiles')[1]).toEqual(['p99 0.991', 'p90 0.901', 'p50 0.501', 'p10 0.101'])
    expect(chart('Missing features')).toEqual(['Missing features. Newest: share 7.1%', ['share 7.1%']])
  })

  test('say how long they are and since when', () => {
    const html = renderToString(
      <PointCharts points={[pointFixture(0), pointFixture(1)]} startedAt={nowFixture.started_at} />,
    )
    expect(textOf(html)).toMatch(/^Last 5 min, 2 cycles Recorded since 11:00 KST/)
    setServerTime(Date.parse(nowFixture.started_at) + 24 * 3600 * second)
    const later = renderToString(<PointCharts points={[pointFixture(1)]} startedAt={nowFixture.started_at} />)
    expect(textOf(later)).toMatch(/^Cycles over time Latency/)
  })
})
