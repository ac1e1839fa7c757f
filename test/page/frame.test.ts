/** The frame around the views: the state of the service and of the connection, languages, colours, keys and the focus. */
import { describe, expect, test } from 'vitest'
import type { Check } from '../../src/contract/index.js'
import { browserMissing, namelessControls, pressOnceShown, unreachableControls } from '../helpers/browser.js'
import { callFixture, nowFixture, picksFixture, pointFixture } from '../helpers/page-fixtures.js'
import { badgesOf, Failure, pageLane, textOf, textsOf } from '../helpers/page-lane.js'

const manyPicks = {
  ...picksFixture,
  matching: 60,
  picks: Array.from({ length: 60 }, (_, i) => ({ ...picksFixture.picks[0]!, post_no: i + 1 })),
}
const manyCalls = Array.from({ length: 200 }, (_, i) => ({ ...callFixture, id: 200 - i }))
const calls = (items: readonly object[]) => ({ '/cycles': { instance: 'i', is_last: true, items } })

describe.skipIf(browserMissing)('the frame', () => {
  const lane = pageLane()

  const press = (key: string): Promise<void> => lane.page.keyboard.press(key)
  /** An expression of the element that has the focus. */
  const focused = (member: string): Promise<unknown> => lane.page.evaluate(`document.activeElement.${member}`)
  const focusedRow = () => focused("closest('[data-index]')?.dataset.index")
  const state = () => lane.page.locator('.service-state')
  const announced = (text: string): Promise<void> =>
    lane.page.locator('p.sr-only[role=status]').filter({ hasText: text }).waitFor({ state: 'attached' })

  describe('the state of the service', () => {
    /** What the frame shows for checks with these states. */
    const shown = async (
      states: readonly Check['status'][],
      at = nowFixture.time,
    ): Promise<[string[], string]> => {
      const facts: readonly Omit<Check, 'status'>[] = [
        { check: 'service', reasons: [{ code: 'accepts_requests' }] },
        { check: 'model', reasons: [{ code: 'no_model' }] },
        { check: 'storage', reasons: [{ code: 'storage_refuses' }] },
        { check: 'last_cycle', reasons: [{ code: 'no_cycle' }] },
      ]
      const checks = states.map((status, i): Check => ({ ...facts[i]!, status }))
      await lane.show('models', { '/now': { ...nowFixture, checks } }, { at })
      return [await badgesOf(state()), await textOf(state())]
    }

    test('is on each view: working, a warning, or degraded, with the first reason of the worst', async () => {
      expect(await shown(['ok', 'ok'])).toEqual([['ok working'], 'working live'])
      expect(await shown(['ok', 'ok', 'ok', 'warn'])).toEqual([
        ['warn warning'],
        'warning last cycle: arrived 4 min ago live',
      ])
      expect(await shown(['warn', 'ok', 'fail', 'fail'])).toEqual([
        ['fail degraded'],
        'degraded storage: storage refuses writes live',
      ])
    })

    test('an overdue cycle is a warning, although each check of the service is ok', async () => {
      expect(await shown(['ok', 'ok', 'ok', 'ok'], '2026-03-02T04:07:00Z')).toEqual([
        ['warn warning'],
        'warning next cycle: 7 min overdue live',
      ])
    })

    test('is read again after an event, and announced with each cycle', async () => {
      const checks = nowFixture.checks.map((check) => ({ ...check, status: 'ok' as const }))
      await lane.show('now', { '/now': { ...nowFixture, checks } })
      await announced('Service: working')
      lane.respond({ '/now': nowFixture })
      await lane.send('status', { checks: [] })
      expect(await badgesOf(state())).toEqual(['fail degraded'])
      await announced('Service: degraded')
      await lane.send('cycle', pointFixture(1))
      await announced('Cycle 03-02 13:00: 4,101 posts scored')
    })
  })

  describe('one notice has the reason for which data is stale', () => {
    const notices = () => textsOf(lane.page.locator('.notice'))

    test('while the service responds', async () => {
      await lane.show('picks', {})
      lane.respond({ '/picks': new Failure(503, 'too busy') })
      await lane.send('cycle', pointFixture(1))
      expect(await notices()).toEqual(['Stale since 13:00:10 KST (picks), because too busy.'])
    })

    test('while there is no connection, and while the service does not accept the session', async () => {
      await lane.show('picks', {})
      await lane.loseConnection()
      await lane.page.getByText('no connection', { exact: true }).waitFor()
      expect(await notices()).toEqual([
        'No connection to the service. What is shown is from 13:00:10 KST. Trying again.',
      ])
      // It opens again by itself.
      await lane.page.getByText('live', { exact: true }).waitFor()
      expect(await notices()).toEqual([])
      const denied = new Failure(401, 'signed out')
      lane.respond({ '/now': denied, '/picks': denied })
      await lane.loseConnection()
      await lane.page.getByText('The service does not accept this session.').waitFor()
      expect(await notices()).toEqual([
        'The service does not accept this session. What is shown is from 13:00:10 KST. Open the address with the token that ' +
          'the service prints at startup.',
      ])
    })
  })

  test('numbers open views, ? lists the shortcuts, t changes the colours', async () => {
    await lane.show('now')
    await press('2')
    await expect.poll(() => focused('textContent')).toBe('Picks')
    await press('?')
    await lane.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await press('Escape')
    await lane.page.getByRole('dialog').waitFor({ state: 'hidden' })
    // A moment later the focus is back where it was.
    await expect.poll(() => focused('textContent')).toBe('Picks')
    const background = () => lane.page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await press('t')
    const light = await background()
    await press('t')
    expect(await background()).not.toBe(light)
  })

  test('a button and a key change the language, and the choice is remembered', async () => {
    const language = (): Promise<string[]> =>
      lane.page.evaluate('[document.documentElement.lang, document.title]')
    await lane.show('now')
    await lane.page.getByRole('button', { name: /한국어로 바꾸기/ }).click()
    await lane.region('최근 cycle').waitFor()
    expect(await language()).toEqual(['ko', '현황 · Understudy'])
    await lane.page.reload()
    await lane.region('최근 cycle').waitFor()
    await press('l')
    await lane.region('Last cycle').waitFor()
    expect(await language()).toEqual(['en', 'Now · Understudy'])
  })

  test('keys work from the moment in which what they act on is shown', async () => {
    await lane.show('cycles')
    const closed = pressOnceShown(lane.page, 'aside.details', 'Escape')
    await lane.page.locator('.row-link').first().click()
    await closed
    await lane.page.getByRole('complementary').waitFor({ state: 'detached' })
    const headed = pressOnceShown(lane.page, 'input[type=search]', 'x')
    await press('2')
    expect(await headed).toBe('Picks')
  })

  test('/ searches; j and k move through the rows; Enter opens one', async () => {
    await lane.show('picks', { '/picks': manyPicks })
    await press('/')
    expect(await focused('type')).toBe('search')
    await lane.page.keyboard.type('jk2?')
    expect(await lane.page.getByRole('searchbox').inputValue()).toBe('jk2?')
    await press('Escape')
    for (let i = 0; i < 30; i++) {
      await press('j')
      await expect.poll(focusedRow).toBe(String(i))
    }
    await press('k')
    await expect.poll(focusedRow).toBe('28')
    await press('ArrowDown')
    await expect.poll(focusedRow).toBe('29')
    // Tab leaves the list, and comes back to the row.
    await press('Tab')
    await expect.poll(focusedRow).toBeUndefined()
    await press('Shift+Tab')
    await expect.poll(focusedRow).toBe('29')
    await press('Enter')
    await lane.page.waitForURL(/#\/posts\/g1\/30$/)
  })

  test('after the row that had the focus is scrolled away, Tab reaches one row, and then leaves the table', async () => {
    await lane.show('cycles', calls(manyCalls))
    const scrollTo = (index: number) =>
      lane.page.evaluate(`document.querySelector('.scroller').scrollTop = ${index} * 40`)
    for (const [from, to] of [
      [0, 199],
      [199, 0],
    ] as const) {
      await scrollTo(from)
      await lane.page.locator(`[data-index="${from}"] button`).focus()
      await scrollTo(to)
      await lane.page.locator(`[data-index="${from}"]`).waitFor({ state: 'detached' })
      await lane.page.locator('.scroller').focus()
      await press('Tab')
      await expect.poll(focusedRow).toBeDefined()
      await press('Tab')
      await expect.poll(focusedRow).toBeUndefined()
    }
  })

  test.each(['now', 'picks', 'posts', 'posts/g1/31', 'report', 'models', 'cycles'])(
    'Tab reaches every control of %s with a visible focus, and each has a name',
    async (view) => {
      await lane.show(view)
      expect(await unreachableControls(lane.page)).toEqual([])
      expect(await namelessControls(lane.page)).toEqual([])
    },
  )

  test('a control that Tab does not reach, one without a focus ring and one without a name are found', async () => {
    await lane.show('models')
    await lane.page.evaluate(`
      const [first, second, third] = document.querySelectorAll('.command button')
      first.tabIndex = -1
      second.style.outline = 'none'
      third.textContent = ''
      undefined
    `)
    const [ring, lost, ...rest] = await unreachableControls(lane.page)
    expect([ring, lost, rest]).toEqual([
      expect.stringMatching(/does not show the focus$/),
      expect.stringMatching(/^not reached: .*verify v-now/),
      [],
    ])
    expect(await namelessControls(lane.page)).toEqual([expect.stringContaining('- button')])
  })

  test('after a change of the view the focus is on its heading', async () => {
    await lane.show('now')
    for (const view of ['Picks', 'Report', 'Models', 'Now']) {
      await lane.page.getByRole('navigation').getByRole('link', { name: view }).click()
      await expect.poll(() => focused('tagName + document.activeElement.textContent')).toBe(`H1${view}`)
    }
  })
})
