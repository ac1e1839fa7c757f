/**
 * The operators' page in a real Chromium, on a real server: every view with its data, live changes, keyboard, axe-core,
 * screenshots. Skipped, with one line, if Chromium is not installed.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import {
  browserMissing,
  launch,
  namelessControls,
  open as openView,
  overflows,
  pressOnceShown,
  settled,
  startedAdmin,
  takeScreenshots,
  unreachableControls,
  violations,
  visit,
  widths,
  type Admin,
  type Visitor,
} from '../helpers/browser.js'
import { smallJpeg } from '../harness/jpeg.js'

if (browserMissing) console.log('skipped: test/system/page.test.ts needs Chromium at /usr/bin/chromium')

const postCount = 5000
/** Posts with an image; the second one leaves. */
const withImage = [1, 200]
const title = '유니폼 vs 원정 경기 뭐가 나음? ㅋㅋ'

/** Scrolls through the list and returns the largest number of rows that existed at once. */
const scrollThroughRows = `(async () => {
  const scroller = document.querySelector('.scroller')
  let most = 0
  for (let top = 0; top < scroller.scrollHeight; top += 3000) {
    scroller.scrollTo(0, top)
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    most = Math.max(most, scroller.querySelectorAll('.rows-body > .row').length)
  }
  return most
})()`

describe.skipIf(browserMissing)('the page', () => {
  let admin: Admin
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let nextCycle = 0

  /** The next cycle, with a reading of the first 200 posts. */
  const postCycle = async (parts: Parameters<typeof cycleBody>[1] = {}): Promise<string> => {
    const index = nextCycle++
    const engagement = Array.from({ length: 200 }, (_, i) =>
      reading('g1', i + 1, cycleMs(index), { views: 1000 + 7 * i + 40 * index, up: i + index }),
    )
    const body = cycleBody(index, { engagement, ...parts })
    const { status, text } = await admin.server.postCycle(body)
    expect(status, text).toBe(200)
    return body.cycle_id
  }
  const open = (view: string): Promise<void> => openView(page, view)

  beforeAll(async () => {
    admin = await startedAdmin()
    const candidates = Array.from({ length: postCount }, (_, i) =>
      candidate(`g${1 + Math.floor(i / 1000)}`, i + 1, {
        title: `${title} ${i + 1}`,
        body_html: `<p>본문 ${i + 1}</p><p>둘째 줄 &amp; 끝</p>`,
        images_in_post: withImage.includes(i + 1) ? 1 : 0,
        ...(withImage.includes(i + 1) ? { image_positions: [1] } : {}),
      }),
    )
    await postCycle({ candidates })
    for (const postNo of withImage) {
      const image = {
        path: `/v1/images/g1/${postNo}/01`,
        body: await smallJpeg(90),
        headers: { 'Content-Type': 'image/jpeg' },
      }
      expect((await admin.server.call({ method: 'PUT', ...image })).status).toBe(201)
    }
    await postCycle()
    await postCycle({ removals: [removal('g1', 200, { reason: 'saved', tier: 'main' })] })
    // Refused, with a problem.
    expect((await admin.server.postCycle({ cycle_id: '20240301T0100' })).status).toBe(400)
    browser = await launch()
    visitor = await visit(browser, admin)
    page = visitor.page
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })
  afterEach(() => expect(visitor.problems.splice(0)).toEqual([]))

  test('Now shows the state with reasons, the last cycle, the posts and the charts', async () => {
    await open('now')
    const checks = page.getByRole('list', { name: 'Health checks' })
    expect(await checks.innerText()).toContain('storage accepts writes')
    const textOf = (name: string): Promise<string> => page.getByRole('region', { name }).innerText()
    expect(await textOf('Last cycle')).toContain('03-01 00:10')
    expect(await textOf('Pending posts')).toContain('4,999')
    expect(await textOf('Model in force')).toContain('transport-test-1')
    const latency = page.getByRole('img', { name: /^Latency by stage/ })
    // The heading is shown before the first figures are drawn.
    await latency.locator('canvas').waitFor()
    expect(await latency.locator('canvas').count()).toBe(1)
    const since = /since \d\d:\d\d KST/
    for (const region of ['First scores on time', 'Cycles over time'])
      expect(await textOf(region)).toMatch(since)
    for (const name of [/^Results/, /^Score quantiles/, /^Missing features/])
      await page.getByRole('img', { name }).locator('canvas').waitFor()
  })

  test('Now follows the cycles without a reload, and announces them', async () => {
    await open('now')
    // From then on it receives events, and has announced what it found.
    for (const part of ['.live', '.health']) await page.locator(`.service-state ${part}`).waitFor()
    const id = await postCycle()
    const label = `${id.slice(4, 6)}-${id.slice(6, 8)} ${id.slice(9, 11)}:${id.slice(11)}`
    await page.getByRole('region', { name: 'Last cycle' }).getByText(label).waitFor()
    const announced = page.getByRole('status').filter({ hasText: `Cycle ${label}` })
    await announced.waitFor({ state: 'attached' })
  })

  test('Picks lists all pending posts by rank, of which only the visible rows exist', async () => {
    await open('picks')
    await page.getByRole('link', { name: title }).first().waitFor()
    const table = page.getByRole('table', { name: 'Pending posts by rank' })
    expect(await table.getAttribute('aria-rowcount')).toBe(String(postCount - 1 + 1))
    // Through all of them, a screen at a time.
    const mostRows = await page.evaluate<number>(scrollThroughRows)
    expect(mostRows).toBeGreaterThan(10)
    expect(mostRows).toBeLessThan(40)
    await page.evaluate("document.querySelector('.scroller').scrollTo(0, 1e7)")
    await page.locator(`[data-index="${postCount - 2}"] a`).waitFor()
    // 4,800 posts have no score: the rank is one of 200.
    const saves = page.getByRole('complementary', { name: 'Latest saves' })
    expect(await saves.innerText()).toMatch(/g1[^]*200[^]*main[^]*\d+\s+of 200/)
    expect(await page.locator('.list-note').innerText()).toMatch(/^4,999 pending, 19\d scored in 03-01/)
  })

  test('Picks shows why the next rows cannot be read, keeps its place, and reads them later', async () => {
    await open('picks')
    await page.locator('[data-index="0"] a').waitFor()
    const json = { error: { code: 'unavailable', message: 'too busy' } }
    visitor.expectProblems(/ 503 .*\/api\/picks\?/)
    await page.route('**/api/picks?*', (route) => route.fulfill({ status: 503, json }))
    await page.evaluate("document.querySelector('.scroller').scrollTop = 200 * 52")
    await page.getByText('No picks: too busy').waitFor()
    expect(await page.locator('.list-note').innerText()).toContain('4,999 pending')
    await page.unrouteAll()
    await page.locator('[data-index="205"] a').waitFor()
    await page.getByText('No picks: too busy').waitFor({ state: 'detached' })
  })

  test('Picks shows the rank in the whole pool, even in a selection, and titles as Korean', async () => {
    const response = await page.request.get('/api/picks?offset=120&limit=1')
    const { picks } = (await response.json()) as {
      readonly picks: { readonly rank: number; readonly title: string }[]
    }
    expect(picks[0]?.rank).toBe(121)
    await open('picks')
    await page.getByRole('searchbox').fill(picks[0]?.title ?? '')
    const row = page
      .locator('.rows-body > .row')
      .filter({ hasText: picks[0]?.title ?? '' })
      .first()
    await page.getByText(/^\d+ of 4,999 pending/).waitFor()
    expect(await row.locator('.rank').innerText()).toBe('121')
    expect(await row.locator('bdi[lang=ko]').innerText()).toBe(picks[0]?.title)
  })

  test('Picks searches titles and filters by gallery', async () => {
    await open('picks')
    await page.getByRole('searchbox').fill(`${title} 1234`)
    await page.getByText('1 of 4,999').waitFor()
    expect(await page.locator('.rows-body a').allInnerTexts()).toEqual([`${title} 1234`])
    await page.getByRole('searchbox').fill('')
    await page.getByRole('combobox', { name: 'Gallery' }).selectOption('g3')
    await page.getByText('1,000 of 4,999').waitFor()
    await page.getByRole('searchbox').fill('nothing has this title')
    await page.getByText('No pending post matches.').waitFor()
  })

  test('Post shows the text as text, the image, the timeline and the visits', async () => {
    await open('posts/g1/1')
    await page.getByRole('heading', { name: `${title} 1`, exact: true }).waitFor()
    expect(await page.locator('.post-text').innerText()).toBe('본문 1\n\n둘째 줄 & 끝')
    await page.getByRole('button', { name: 'As received' }).click()
    expect(await page.locator('.post-text').innerText()).toContain('<p>본문 1</p>')
    const width = () => page.evaluate<number>("document.querySelector('.images img').naturalWidth")
    await expect.poll(width).toBe(64)
    expect(await page.getByRole('img', { name: /^Score\. Newest: Score 0\./ }).count()).toBe(1)
    const visits = page.getByRole('table', { name: /Stays of the post/ })
    await visits.getByText('pending').waitFor()
    await page.getByRole('table', { name: /Inputs of the model/ }).waitFor()
  })

  test('Post shows the past of a post that has left, and reports what does not exist', async () => {
    // It is not pending.
    visitor.expectProblems(/ 404 .*\b200\b/)
    await open('posts/g1/200')
    await page.getByText('not pending').waitFor()
    await page.getByRole('heading', { name: `${title} 200`, exact: true }).waitFor()
    expect(await page.locator('.post-text').innerText()).toBe('본문 200\n\n둘째 줄 & 끝')
    expect(await page.getByRole('region', { name: 'Outcome' }).innerText()).toMatch(/saved\s+main/)
    // Of the cycle before the one with which it left.
    expect(await page.getByRole('region', { name: 'Last counters' }).innerText()).toMatch(/2,433\s+views/)
    const width = () => page.evaluate<number>("document.querySelector('.images img').naturalWidth")
    await expect.poll(width).toBe(64)
    await page
      .getByRole('table', { name: /Stays of the post/ })
      .getByText('saved')
      .waitFor()
    visitor.expectProblems(/ 404 .*\b999999\b/)
    await open('posts/g1/999999')
    await page.getByText(/No visits: no stored cycle/).waitFor()
  })

  test('Report draws the intervals of each order and lists the groups', async () => {
    await open('report')
    const orders = page.getByRole('table', { name: /Means with 95 % intervals/ })
    await orders.waitFor()
    expect(await orders.getByRole('rowheader').allInnerTexts()).toContain('newest first')
    expect(await page.getByRole('table', { name: /by Hour/ }).count()).toBe(0)
    await page.getByText('Hour of the decision (KST)').click()
    await page.getByRole('table', { name: /by Hour/ }).waitFor()
  })

  test('Models shows states, provenance and commands to copy', async () => {
    await open('models')
    const card = page.getByRole('region', { name: 'transport-test-1' })
    await card.getByText('serving').waitFor()
    expect(await card.innerText()).toContain('understudy models verify transport-test-1')
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await card.getByRole('button', { name: /^Copy: understudy models verify/ }).click()
    await card.getByText('copied').waitFor()
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('models verify')
  })

  test('Cycles records calls with their first problem, details and downloads', async () => {
    await open('cycles')
    await page.getByRole('combobox', { name: 'Result' }).selectOption('refused')
    await page.getByRole('button', { name: '20240301T0100' }).click()
    const details = page.getByRole('complementary', { name: 'Details of the call' })
    expect(await details.innerText()).toMatch(/cycle_time: is required[^]*400/)
    await page.keyboard.press('Escape')
    await details.waitFor({ state: 'detached' })
    await page.getByRole('combobox', { name: 'Result' }).selectOption('scored')
    await page.getByRole('button', { name: '20240301T0000' }).click()
    const download = page.waitForEvent('download')
    await details.getByRole('link', { name: 'Response' }).click()
    expect((await download).suggestedFilename()).toBe('20240301T0000-response.json')
    await page.getByRole('button', { name: 'Stored' }).click()
    await page
      .getByRole('table', { name: /Stored cycles/ })
      .getByRole('button', { name: '20240301T0000' })
      .click()
    const stored = page.getByRole('complementary', { name: 'Details of the stored cycle' })
    await stored.getByText('Stages are known only').waitFor()
    expect(await stored.innerText()).toMatch(/candidates\s+5,000[^]*scored now\s+\d/i)
  })

  test('a call appears in Cycles when it happens', async () => {
    await open('cycles')
    await page.locator('.row-link').first().waitFor()
    const before = await page.locator('.rows-body > .row').count()
    await postCycle()
    await expect.poll(() => page.locator('.rows-body > .row').count()).toBe(before + 1)
  })

  describe('by keyboard', () => {
    test('numbers open views, ? lists the shortcuts, t changes the colours', async () => {
      await open('now')
      await page.keyboard.press('2')
      const focused = () => page.evaluate<string>('document.activeElement.textContent')
      await expect.poll(focused).toBe('Picks')
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      // A moment later the focus is back where it was.
      await expect.poll(focused).toBe('Picks')
      const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      await page.keyboard.press('t')
      const light = await background()
      await page.keyboard.press('t')
      expect(await background()).not.toBe(light)
      await page.keyboard.press('t')
    })

    test('keys work from the moment in which what they act on is shown', async () => {
      await open('cycles')
      const closed = pressOnceShown(page, 'aside.details', 'Escape')
      await page.locator('.row-link').first().click()
      await closed
      await page.getByRole('complementary').waitFor({ state: 'detached' })
      const headed = pressOnceShown(page, 'input[type=search]', 'x')
      await page.keyboard.press('2')
      expect(await headed).toBe('Picks')
    })

    test('/ searches; j and k move through the rows; Enter opens one', async () => {
      await open('picks')
      await page.locator('.rows-body a').first().waitFor()
      await page.keyboard.press('/')
      expect(await page.evaluate<string>('document.activeElement.type')).toBe('search')
      await page.keyboard.type('jk2?')
      expect(await page.getByRole('searchbox').inputValue()).toBe('jk2?')
      // The rows change once the search takes effect, and again without it.
      await page.getByText('No pending post matches.').waitFor()
      await page.getByRole('searchbox').fill('')
      await page.keyboard.press('Escape')
      await page.locator('[data-index="1"] a').waitFor()
      const focused = () =>
        page.evaluate<string>("document.activeElement.closest('[data-index]')?.dataset.index")
      await page.keyboard.press('j')
      await expect.poll(focused).toBe('0')
      for (let i = 0; i < 30; i++) {
        await page.keyboard.press('j')
        await expect.poll(focused).toBe(String(i + 1))
      }
      await page.keyboard.press('k')
      await expect.poll(focused).toBe('29')
      await page.keyboard.press('ArrowDown')
      await expect.poll(focused).toBe('30')
      // Tab leaves the list of thousands, and comes back to the row.
      await page.keyboard.press('Tab')
      await expect.poll(focused).toBeUndefined()
      await page.keyboard.press('Shift+Tab')
      await expect.poll(focused).toBe('30')
      await page.keyboard.press('Enter')
      await page.waitForURL(/#\/posts\//)
    })

    test.each(['now', 'picks', 'report', 'models', 'cycles'])(
      'Tab reaches every control of %s with a visible focus, and each has a name',
      async (view) => {
        await open(view)
        if (view === 'report') await page.getByRole('table', { name: /Means/ }).waitFor()
        await settled(page)
        expect(await unreachableControls(page)).toEqual([])
        expect(await namelessControls(page)).toEqual([])
      },
    )

    test('a control that Tab does not reach, one without a focus ring and one without a name are found', async () => {
      await open('models')
      await page.getByRole('button', { name: /^Copy/ }).first().waitFor()
      await page.evaluate(`
        const [first, second, third] = document.querySelectorAll('.command button')
        first.tabIndex = -1
        second.style.outline = 'none'
        third.textContent = ''
        undefined
      `)
      const [ring, lost, ...rest] = await unreachableControls(page)
      expect([ring, lost, rest]).toEqual([
        expect.stringMatching(/does not show the focus$/),
        expect.stringMatching(/^not reached: .*models verify/),
        [],
      ])
      expect(await namelessControls(page)).toEqual([expect.stringContaining('- button')])
    })

    test('after a change of the view the focus is on its heading', async () => {
      await open('now')
      const focused = () =>
        page.evaluate<string>('document.activeElement.tagName + document.activeElement.textContent')
      for (const view of ['Picks', 'Report', 'Models', 'Now']) {
        await page.getByRole('navigation').getByRole('link', { name: view }).click()
        await page.waitForURL(/#/)
        await expect.poll(focused).toBe(`H1${view}`)
      }
    })
  })

  test.each(['now', 'picks', 'posts/g1/1', 'report', 'models', 'cycles'])(
    '%s has no violation of axe-core, fits three widths, and has screenshots',
    async (view) => {
      await open(view)
      if (view.startsWith('posts')) await page.getByRole('table', { name: /Inputs/ }).waitFor()
      if (view === 'report') await page.getByRole('table', { name: /Means/ }).waitFor()
      for (const width of widths)
        for (const colorScheme of ['dark', 'light'] as const) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 900 })
          await settled(page)
          expect(await violations(page), `${width} ${colorScheme}`).toEqual([])
          expect(await overflows(page), `${width}`).toEqual([])
        }
      await takeScreenshots(page, view.split('/')[0] ?? view)
    },
  )
})
