/** Now: each figure, badge and time is that of its label, and what an operator must do is on it. All values of the fixture differ. */
import { describe, expect, test } from 'vitest'
import type { Now } from '../../src/contract/index.js'
import { browserMissing } from '../helpers/browser.js'
import { nowFixture, pointFixture } from '../helpers/page-fixtures.js'
import { attributesOf, badgesOf, pageLane, stylesOf, textOf, textsOf } from '../helpers/page-lane.js'

const second = 1000
const dueMs = Date.parse(nowFixture.next_cycle?.due_at ?? '')

describe.skipIf(browserMissing)('Now', () => {
  const lane = pageLane()

  const show = (change: Partial<Now> = {}, at: number | string = nowFixture.time): Promise<void> =>
    lane.show('now', { '/now': { ...nowFixture, ...change } }, { at })
  const checks = () => lane.page.getByRole('list', { name: 'Health checks' }).getByRole('listitem')

  const details = () => lane.page.getByRole('button', { name: 'Details' })

  test('each tile has its one figure, on one line, and on demand its details, which stay', async () => {
    await show()
    const tiles = ['Last cycle', 'Pending posts', 'First scores on time', 'Model in force', 'Machine']
    expect(await Promise.all(tiles.map((tile) => lane.tileOf(tile)))).toEqual([
      { figure: '4 min ago 03-02 12:55' },
      { figure: '4,321 4,100 scored' },
      { figure: '97.5% target 99%' },
      { figure: 'serving-7' },
      { figure: '5.0 GiB disk free' },
    ])
    await details().click()
    await lane.page.reload()
    await lane.read()
    expect(await details().getAttribute('aria-pressed')).toBe('true')
    expect(await lane.tileOf('Last cycle')).toEqual({
      figure: '4 min ago 03-02 12:55',
      Took: '1.23 s',
      'Next due': '13:00, 10 s ago',
    })
    expect(await lane.tileOf('Pending posts')).toEqual({
      figure: '4,321 4,100 scored',
      Scored: '4,100',
      Waiting: '120',
      'Not scored': '101',
      '· Missing title': '61',
      '· Post unavailable': '40',
    })
    expect(await lane.tileOf('First scores on time')).toEqual({
      figure: '97.5% target 99%',
      'On time': '1,950',
      Late: '21',
      Overdue: '17',
      'Left without one': '12',
      Counted: 'since 11:00 KST',
    })
    expect(await lane.tileOf('Model in force')).toEqual({
      figure: 'serving-7',
      Kind: 'trained',
      'Runs on': 'cpu',
      Shadows: 'shadow-8, shadow-9',
      Weights: 'weights-3',
      Service: '0.9.1',
    })
    expect(await lane.tileOf('Machine')).toEqual({
      figure: '5.0 GiB disk free',
      Data: '3.0 GiB',
      Memory: '700 MiB',
      'Cycles queued': '2 of 5',
      'To encode': '31 texts, 1 image',
      Started: '2 h ago',
    })
  })

  test('the parts of a bar have the sizes of their names', async () => {
    await show()
    const partsOf = async (title: string): Promise<string[]> => {
      const parts = lane.region(title).locator('.bar span')
      const sizes = await stylesOf(parts, 'flex-grow')
      return (await attributesOf(parts, 'title')).map((name, i) => `${name} ${sizes[i]}`)
    }
    expect(await partsOf('Pending posts')).toEqual(['Scored 4100', 'Waiting 120', 'Not scored 101'])
    expect(await partsOf('First scores on time')).toEqual([
      ...['On time 1950', 'Late 21', 'Overdue 17', 'Left without one 12'],
    ])
  })

  test('each check has its state and its reason', async () => {
    await show()
    expect(await textsOf(checks())).toEqual([
      'Service ok the service accepts requests',
      'Model warning a model serves; v-bad failed to load',
      'Storage ok storage accepts writes',
      'Last cycle failed arrived 4 min ago',
      'Disk ok 5.0 GiB free',
    ])
    expect((await badgesOf(lane.page.locator('.checks'))).map((badge) => badge.split(' ')[0])).toEqual([
      ...['ok', 'warn', 'ok', 'fail', 'ok'],
    ])
    await lane.page.keyboard.press('l')
    const korean = lane.page.getByRole('list', { name: '상태 점검' }).getByRole('listitem')
    expect(await textOf(korean.nth(1))).toBe(
      '모델 주의 모델이 채점하고 있습니다; v-bad 버전을 불러오지 못했습니다',
    )
  })

  test('the details of a model that fails are in one place: its notice, or the check without one', async () => {
    const hash = 'a'.repeat(64)
    const checks: Now['checks'] = [
      { check: 'model', status: 'fail', reasons: [{ code: 'model_fails', cycles: 2, problem: hash }] },
    ]
    const [failed] = nowFixture.failed_versions
    for (const failed_versions of [[], [{ ...failed!, problem: hash }]]) {
      await show({ checks, failed_versions })
      expect(await lane.page.locator('#page').getByText(hash).count()).toBe(1)
      expect(await textOf(lane.page.locator('.service-state'))).toMatch(
        /^degraded model: the model failed the last 2 cycles live/,
      )
    }
  })

  test('an overdue cycle is a warning of its own, beside the check of the last cycle, which the service decides', async () => {
    const shown = async (status: 'ok' | 'warn', afterMs: number): Promise<string[]> => {
      await show({ checks: nowFixture.checks.map((check) => ({ ...check, status })) }, dueMs + afterMs)
      return (await textsOf(checks())).filter((line) => / cycle /.test(line))
    }
    expect(await shown('ok', 60 * second)).toEqual(['Last cycle ok arrived 5 min ago'])
    expect(await shown('ok', 61 * second)).toEqual([
      'Last cycle ok arrived 5 min ago',
      'Next cycle warning 1 min overdue',
    ])
    expect(await shown('warn', 16 * 60 * second)).toEqual([
      'Last cycle warning arrived 20 min ago',
      'Next cycle warning 16 min overdue',
    ])
  })

  describe('the next cycle', () => {
    const due = async (afterMs: number, change: Partial<Now> = {}): Promise<[string, string[]]> => {
      await show(change, dueMs + afterMs)
      await details().click()
      const { 'Next due': next = '' } = await lane.tileOf('Last cycle')
      return [next, await badgesOf(lane.region('Last cycle'))]
    }

    test('is due at its time, and overdue from one minute after it', async () => {
      expect(await due(-90 * second)).toEqual(['13:00, in 1 min', []])
      expect(await due(59 * second)).toEqual(['13:00, 59 s ago', []])
      expect(await due(60 * second)).toEqual(['13:00, 1 min ago', []])
      expect(await due(61 * second)).toEqual(['13:00, 1 min ago', ['warn next 1 min overdue']])
      expect(await due(125 * 60 * second)).toEqual(['13:00, 2 h 5 min ago', ['warn next 2 h 5 min overdue']])
    })

    test('is never overdue if the cycles are of another time, and has no time without a cycle', async () => {
      const next_cycle = { due_at: new Date(dueMs).toISOString(), overdue_from: null }
      expect(await due(10 * 60 * second, { next_cycle })).toEqual(['13:00', []])
      expect(await due(0, { next_cycle: null })).toEqual(['–', []])
    })
  })

  test('until the first cycle arrives, one card has the command that sends one, and no tile is without figures', async () => {
    const command = 'understudy simulate --data-dir /srv/data'
    await show({ last_cycle: null, last_cycle_id: null, first_cycle_command: command })
    const card = lane.region('No cycle has arrived yet')
    expect(await textOf(card)).toContain(command)
    for (const tile of ['Last cycle', 'Pending posts', 'First scores on time'])
      expect(await lane.region(tile).count()).toBe(0)
    expect(await lane.region('Model in force').count()).toBe(1)
    // Without a model it would get 503.
    await show({ last_cycle: null, last_cycle_id: null, first_cycle_command: command, model: null })
    expect(await card.count()).toBe(0)
  })

  test('the share on time is green from the target on, red below it, and grey without posts', async () => {
    const classes: string[] = []
    for (const share of [0.99, 0.9899, null]) {
      await show({ first_scores: { ...nowFixture.first_scores, share } })
      classes.push(
        ...(await attributesOf(lane.region('First scores on time').locator('.figure span'), 'class')),
      )
    }
    expect(classes).toEqual(['text-ok', 'text-fail', 'muted'])
  })

  test('counts of first scores are those since the start, and of 24 hours from then on', async () => {
    const counted = async (hours: number): Promise<string | undefined> => {
      await show({}, Date.parse(nowFixture.started_at) + hours * 3600 * second)
      await details().click()
      return (await lane.tileOf('First scores on time'))['Counted']
    }
    expect([await counted(23.99), await counted(24)]).toEqual(['since 11:00 KST', 'last 24 h'])
  })

  test('no model, and a transport test, are marked', async () => {
    const tile = lane.region.bind(lane, 'Model in force')
    await show({ model: { version: 'serving-7', kind: 'transport-test', provider: 'cpu' } })
    expect(await badgesOf(tile())).toEqual(['warn scores have no meaning'])
    await show({ shadows: [] })
    await details().click()
    expect(await badgesOf(tile())).toEqual([])
    expect((await lane.tileOf('Model in force'))['Shadows']).toBe('none')
    await show({ model: null })
    await details().click()
    expect(await lane.tileOf('Model in force')).toMatchObject({ figure: 'none', Kind: '–', 'Runs on': '–' })
    expect(await tile().locator('.figure .text-fail').count()).toBe(1)
  })

  describe('a version that failed', () => {
    const notice = (label: string): Promise<string> => textOf(lane.region(label))

    test('to load has its role, its time, its problem, what serves instead, and its commands', async () => {
      await show()
      const active = await notice('v-bad failed to load')
      expect(active).toContain('Activation failed: v-bad, 2026-03-02 12:31 KST. no such file')
      expect(active).toContain('serving-7 keeps serving.')
      expect(active).toContain('or to stay with the version that serves')
      const commands = (label: string) => textsOf(lane.region(label).locator('code'))
      expect(await commands('v-bad failed to load')).toEqual(['verify v-bad', 'activate serving-7'])
      const shadow = await notice('s-bad failed to load')
      expect(shadow).toContain('Shadow failed: s-bad, 2026-03-02 12:32 KST. bad graph')
      expect(shadow).not.toContain('serving')
      expect(await commands('s-bad failed to load')).toEqual(['verify s-bad'])
      await show({ model: null })
      expect(await notice('v-bad failed to load')).toContain('No model is serving: cycles get 503.')
    })

    test('its cycles has its time, its problem, what serves instead, and its commands', async () => {
      const failed = {
        version: 'v-worse',
        kind: 'cycles',
        role: 'active',
        problem: 'no memory',
        at: '2026-03-02T03:33:00.000Z',
        commands: ['verify v-worse', 'activate serving-7'],
      } as const
      await show({ failed_versions: [failed] })
      expect(await notice('v-worse failed its cycles')).toMatch(
        new RegExp(
          '^Model failed: v-worse, 2026-03-02 12:33 KST. no memory ' +
            'serving-7, which served before, serves instead until a version is activated. ' +
            'To see every check of the package, or to stay with the version that serves: verify v-worse .*activate serving-7',
        ),
      )
      await show({ failed_versions: [failed], model: null })
      expect(await notice('v-worse failed its cycles')).toContain('No model is serving: cycles get 503.')
    })
  })

  describe('the charts', () => {
    const chart = (title: RegExp) =>
      lane.page.getByRole('figure').filter({ has: lane.page.getByRole('heading', { name: title }) })
    const legend = (title: RegExp): Promise<string[]> => textsOf(chart(title).getByRole('listitem'))

    test('have the values of the newest cycle by their names, whatever the order in which the cycles come', async () => {
      await lane.show('now', { '/series': { points: [pointFixture(1), pointFixture(0)] } })
      expect(await legend(/^Latency by stage/)).toEqual([
        ...['receive 11.0 ms', 'decode 12.0 ms', 'wait 13.0 ms', 'plan 14.0 ms', 'features 15.0 ms'],
        ...['infer 16.0 ms', 'encode 17.0 ms', 'commit 18.0 ms'],
      ])
      expect(await legend(/^Results/)).toEqual([
        ...['scored 4,101', 'waiting 121', 'missing title 62', 'post unavailable 41'],
      ])
      expect(await legend(/^Score quantiles/)).toEqual(['p99 0.991', 'p90 0.901', 'p50 0.501', 'p10 0.101'])
      expect(await legend(/^Missing features/)).toEqual(['share 7.1%'])
      const names = await attributesOf(lane.page.locator('.charts [role=img]'), 'aria-label')
      expect(names).toContain('Missing features. Newest: share 7.1%')
    })

    test('say how long they are and since when', async () => {
      const heading = () => textOf(lane.page.locator('.charts-head'))
      await show()
      expect(await heading()).toBe('Last 5 min, 2 cycles Recorded since 11:00 KST')
      const at = Date.parse(nowFixture.started_at) + 24 * 3600 * second
      await lane.show('now', { '/series': { points: [pointFixture(1)] } }, { at })
      expect(await heading()).toBe('Cycles over time')
    })

    test('have each cycle once, although an event and a response may both have it', async () => {
      await show()
      await lane.send('cycle', pointFixture(1))
      await lane.send('cycle', {
        ...pointFixture(1),
        cycle_id: '20260302T1305',
        cycle_time: '2026-03-02T13:05:00+09:00',
      })
      expect(await textOf(lane.page.locator('.charts-head h2'))).toBe('Last 10 min, 3 cycles')
    })

    test('the axes of counts have integers, and the times are round in Korea, wherever the reader is', async () => {
      const points = Array.from({ length: 13 }, (_, hour) => ({
        ...pointFixture(0),
        cycle_id: `20260302T${String(hour).padStart(2, '0')}00`,
        cycle_time: new Date(Date.parse('2026-03-02T00:00:00+09:00') + hour * 3_600_000).toISOString(),
        results: [{ status: 'scored' as const, reason: null, count: 2 }],
      }))
      await lane.page.addInitScript({ content: recordTexts })
      await lane.show('now', { '/series': { points } })
      await lane.page
        .getByRole('img', { name: /^Results/ })
        .locator('canvas')
        .waitFor()
      await lane.read()
      const labels = await lane.page.evaluate<string[]>('drawnTexts')
      const times = labels.filter((text) => /:|-/.test(text))
      expect(times.length).toBeGreaterThan(4)
      expect(times.filter((text) => !/^(\d\d:00|03-0\d)$/.test(text))).toEqual([])
      const counts = labels.filter((text) => /^\d+$/.test(text))
      expect(['0', '1', '2'].filter((count) => !counts.includes(count))).toEqual([])
      expect(await textOf(lane.page.locator('.charts-head h2'))).toBe('Last 12 h, 13 cycles')
    })
  })
})

/** What the charts write on their canvases. */
const recordTexts = `
  globalThis.drawnTexts = []
  const { prototype } = CanvasRenderingContext2D
  const draw = prototype.fillText
  prototype.fillText = function (text, ...rest) {
    drawnTexts.push(text)
    draw.call(this, text, ...rest)
  }
`
