/**
 * Cycles and Post on the operators' page: lists longer than one response, filters, restarts, hostile calls, empty and failing
 * states. Skipped, with one line, if Chromium is not installed.
 */
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import {
  browserMissing,
  launch,
  leave,
  startedAdmin,
  takeScreenshots,
  violations,
  visit,
  type Admin,
  type Visitor,
} from '../helpers/browser.js'
import { callFixture } from '../helpers/page-fixtures.js'

if (browserMissing) console.log('skipped: test/system/page-lists.test.ts needs Chromium at /usr/bin/chromium')

const hostile = `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202e`
const intruders = '#page :is(script, iframe, object, embed, [onerror], img[src="x"])'
const unavailable = { status: 503, json: { error: { code: 'unavailable', message: 'too busy' } } }

describe.skipIf(browserMissing)('the page', () => {
  let admin: Admin
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let nextCycle = 0

  const postCycle = async (): Promise<void> => {
    const index = nextCycle++
    const engagement = [reading('g', 1, cycleMs(index), { views: 100 + index })]
    const candidates = index === 0 ? [candidate('g', 1)] : []
    const { status, text } = await admin.server.postCycle(cycleBody(index, { engagement, candidates }))
    expect(status, text).toBe(200)
  }
  const open = async (view: string): Promise<void> => {
    await page.goto(`/#/${view}`)
    await page.locator('main h1').first().waitFor({ state: 'attached' })
  }
  const rows = () => page.locator('.rows-body > .row')
  const rowCount = (count: number) => expect.poll(() => rows().count()).toBe(count)

  beforeAll(async () => {
    admin = await startedAdmin()
    browser = await launch()
  })
  beforeEach(async () => {
    visitor = await visit(browser, admin)
    page = visitor.page
  })
  afterEach(() => leave(visitor))
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })

  test('Cycles shows that there is no call, no refusal and no stored cycle yet', async () => {
    await open('cycles')
    await page.getByText('No call since the service started.').waitFor()
    await page.getByRole('button', { name: 'Other refusals' }).click()
    await page.getByText('No call since the service started.').waitFor()
    await page.getByRole('button', { name: 'Stored' }).click()
    await page.getByText('The store has no cycle.').waitFor()
  })

  test('Cycles and Post show why nothing can be read, and read it later', async () => {
    await page.route('**/api/{cycles,posts}**', (route) => route.fulfill(unavailable))
    await page.route('**/api/posts/**', (route) => route.fulfill(unavailable))
    await postCycle()
    await open('cycles')
    await page.getByText('No calls: too busy').waitFor()
    await page.getByRole('button', { name: 'Stored' }).click()
    await page.getByText('No stored cycles: too busy').waitFor()
    await page.unrouteAll()
    await page
      .getByRole('table', { name: 'Stored cycles' })
      .getByRole('button', { name: '20240301T0000' })
      .waitFor()
    await page.route('**/api/posts/**', (route) => route.fulfill(unavailable))
    await open('posts/g/1')
    await page.getByText(/^No visits:/).waitFor()
    await page.unrouteAll()
    await page.getByRole('table', { name: 'Score and rank by cycle' }).waitFor()
  })

  test('Post follows the cycles with its history, even after a failure', async () => {
    await open('posts/g/1')
    const history = page.getByRole('table', { name: 'Score and rank by cycle' })
    await history.waitFor()
    await postCycle()
    await history.getByText('03-01 00:05').waitFor()
    await page.route('**/history', (route) => route.fulfill(unavailable))
    await postCycle()
    await page
      .getByRole('status')
      .filter({ hasText: /\(visits\), because too busy/ })
      .waitFor()
    expect(await history.getByText('03-01 00:10').count()).toBe(0)
    await page.unrouteAll()
    await history.getByText('03-01 00:10').waitFor()
    expect(await page.locator('h1 bdi[lang=ko]').innerText()).toBe('제목 1 ㅋㅋ')
    expect(await page.locator('.post-head p bdi[lang=ko]').innerText()).toBe('g')
  })

  test('Picks shows no rows of another filter as those of this one, while it loads and after a failure', async () => {
    await open('picks')
    const post = page.getByRole('link', { name: '제목 1 ㅋㅋ' })
    await post.waitFor()
    let respond = (): void => undefined
    const held = new Promise<void>((resolve) => (respond = resolve))
    await page.route('**/api/picks?*q=*', async (route) => {
      await held
      await route.fulfill(unavailable)
    })
    await page.getByRole('searchbox').fill('제목')
    await page.locator('.list[aria-busy=true]').getByText('Loading picks').waitFor()
    respond()
    await page.getByText('No picks: too busy').waitFor()
    expect(await post.count()).toBe(0)
    expect(await page.getByRole('combobox', { name: 'Gallery' }).locator('option').allInnerTexts()).toContain(
      'g',
    )
    await page.unrouteAll()
    await post.waitFor()
    expect(await page.locator('.list[aria-busy=true]').count()).toBe(0)
  })

  test('Picks that cannot be read again stay, as stale', async () => {
    await open('picks')
    await page.getByRole('link', { name: '제목 1 ㅋㅋ' }).waitFor()
    await page.route('**/api/picks?**', (route) => route.fulfill(unavailable))
    await postCycle()
    await page
      .getByRole('status')
      .filter({ hasText: /\(picks\), because too busy/ })
      .waitFor()
    expect(await page.getByRole('link', { name: '제목 1 ㅋㅋ' }).count()).toBe(1)
    expect(await page.getByText('No picks:').count()).toBe(0)
  })

  test('a filter looks through the whole flight recorder', async () => {
    for (let i = 0; i < 230; i++)
      expect((await admin.server.postCycle({ cycle_id: '20240301T0100' })).status).toBe(400)
    await open('cycles')
    await page.getByText(`${230 + nextCycle} calls`).waitFor()
    await page.getByRole('combobox', { name: 'Result' }).selectOption('scored')
    await rowCount(nextCycle)
    await page.getByRole('combobox', { name: 'Result' }).selectOption('failed')
    await page.getByText('No call matches.').waitFor()
  })

  test('hostile texts of refused calls are text, apart from what surrounds them', async () => {
    const path = `/v1/${encodeURIComponent(hostile)}`
    const body = {
      ...cycleBody(40),
      [hostile]: hostile,
      candidates: [{ gall_id: hostile, post_no: hostile }],
    }
    expect((await admin.server.postCycle(body)).status).toBe(400)
    expect((await admin.server.postCycle({ ...body, cycle_id: hostile })).status).toBe(400)
    const headers = { traceparent: hostile.replaceAll(/[^\x20-\x7e]/g, ''), 'User-Agent': '<script>' }
    expect((await admin.server.call({ method: 'POST', path, headers, body: hostile })).status).toBe(404)
    for (const list of ['Calls', 'Other refusals']) {
      await open('cycles')
      await page.getByRole('button', { name: list }).click()
      for (const index of [0, 1]) {
        const link = page.locator(`[data-index="${index}"] .row-link`)
        if (list === 'Other refusals' && index === 1) continue
        await link.click()
        await page.getByRole('complementary', { name: 'Details of the call' }).waitFor()
        // The reason, and the field of a call that has one.
        expect(await page.locator('.details .notice bdi').count()).toBe(list === 'Calls' ? 2 : 1)
        expect(await page.locator(intruders).count()).toBe(0)
      }
      expect(await page.title()).toMatch(/ · Understudy$/)
    }
    expect(await page.locator('.row-link bdi').first().innerText()).toContain('/v1/%22%3E%3Cimg')
    expect(visitor.problems).toEqual([])
  })

  test('after the row that had the focus is scrolled away, Tab reaches one row, and then leaves the table', async () => {
    const items = Array.from({ length: 200 }, (_, i) => ({ ...callFixture, id: 200 - i }))
    const json = { instance: 'one', items, is_last: true }
    await page.route('**/api/cycles?list=calls**', (route) => route.fulfill({ json }))
    await open('cycles')
    await rows().first().waitFor()
    const focused = () =>
      page.evaluate<string>("document.activeElement.closest('[data-index]')?.dataset.index")
    const scrollTo = (index: number) =>
      page.evaluate(`document.querySelector('.scroller').scrollTop = ${index} * 40`)
    for (const [from, to] of [
      [0, 199],
      [199, 0],
    ] as const) {
      await scrollTo(from)
      await page.locator(`[data-index="${from}"] button`).focus()
      await scrollTo(to)
      await page.locator(`[data-index="${from}"]`).waitFor({ state: 'detached' })
      await page.locator('.scroller').focus()
      await page.keyboard.press('Tab')
      await expect.poll(focused).toBeDefined()
      await page.keyboard.press('Tab')
      await expect.poll(focused).toBeUndefined()
    }
  })

  test('calls of before a restart are not mixed with those after it', async () => {
    await open('cycles')
    await rows().first().waitFor()
    await page.locator('.row-link').first().click()
    await page.getByRole('complementary', { name: 'Details of the call' }).waitFor()
    await admin.server.restart()
    await page.getByText('live', { exact: true }).waitFor()
    await page.getByText('No call since the service started.').waitFor()
    await postCycle()
    await postCycle()
    await rowCount(2)
    expect(await page.getByRole('complementary', { name: 'Details of the call' }).count()).toBe(0)
  })

  test('5,000 stored cycles are read by position, each once, and only the visible rows exist', async () => {
    // The oldest one is alone in its block.
    const [oldest, newest] = [99, 5098]
    const asked: number[] = []
    let [inFlight, inFlightMax] = [0, 0]
    const stored = async (route: Route): Promise<void> => {
      const before = Number(new URL(route.request().url()).searchParams.get('before') ?? newest + 1)
      const end = Math.min(before, newest + 1)
      const first = Math.max(oldest, end - 100)
      const items = Array.from({ length: end - first }, (_, i) => ({
        position: end - 1 - i,
        cycleId: `cycle ${end - 1 - i}`,
        receivedAt: '2024-03-01T00:00:00Z',
        modelVersion: hostile,
        weightsVersion: hostile,
      }))
      asked.push(before)
      inFlightMax = Math.max(inFlightMax, ++inFlight)
      const json = { instance: 'one', items, is_last: first <= oldest, oldest, newest }
      await route.fulfill({ json }).finally(() => inFlight--)
    }
    await page.route('**/api/cycles?list=stored**', stored)
    await open('cycles')
    await page.getByRole('button', { name: 'Stored' }).click()
    const table = page.getByRole('table', { name: 'Stored cycles' })
    await table.getByText(`cycle ${newest}`, { exact: true }).waitFor()
    expect(await table.getAttribute('aria-rowcount')).toBe('5001')
    await page.getByText('5,000 stored cycles').waitFor()
    const seen = new Set<string>()
    for (let index = 0; index < 5000; index += 250) {
      await page.evaluate(`document.querySelector('.scroller').scrollTop = ${index} * 44`)
      await table.getByText(`cycle ${newest - index}`, { exact: true }).waitFor()
      expect(await rows().count()).toBeLessThan(60)
      for (const text of await rows().locator('.cycle').allInnerTexts()) if (text !== '') seen.add(text)
    }
    await page.evaluate("document.querySelector('.scroller').scrollTop = 1e7")
    await table.getByText(`cycle ${oldest}`, { exact: true }).waitFor()
    const index = await table.locator('[data-index="4999"] .cycle').innerText()
    expect(index).toBe(`cycle ${oldest}`)
    expect(seen.size).toBeGreaterThan(300)
    expect(await page.locator(intruders).count()).toBe(0)
    // Blocks are exclusive of each other, and what has been read is not read again.
    const blocks = asked.filter((before) => before <= newest)
    expect(blocks.every((before) => before % 100 === 0)).toBe(true)
    expect(new Set(blocks).size).toBe(blocks.length)
    expect(inFlightMax).toBeLessThanOrEqual(2)
    expect(await violations(page)).toEqual([])
    await takeScreenshots(page, 'stored')
  })
})
