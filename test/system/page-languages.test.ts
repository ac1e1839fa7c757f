/**
 * The operators' page in Korean and English: chosen by the browser, switched by the reader, and well made in both. Skipped, with
 * one line, if Chromium is not installed.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import {
  browserMissing,
  launch,
  leave,
  misplacedIntervals,
  namelessControls,
  open,
  overflows,
  settled,
  startedAdmin,
  takeScreenshots,
  violations,
  visit,
  widths,
  type Admin,
} from '../helpers/browser.js'

if (browserMissing)
  console.log('skipped: test/system/page-languages.test.ts needs Chromium at /usr/bin/chromium')

const postCount = 60

describe.skipIf(browserMissing)('the page', () => {
  let admin: Admin
  let browser: Browser

  beforeAll(async () => {
    admin = await startedAdmin()
    const candidates = Array.from({ length: postCount }, (_, i) => candidate('baseball', i + 1))
    for (const index of [0, 1, 2]) {
      const engagement = candidates.map((_, i) =>
        reading('baseball', i + 1, cycleMs(index), { views: 500 + 31 * i + 70 * index, up: i + index }),
      )
      const removals = index === 2 ? [removal('baseball', 7, { reason: 'saved', tier: 'main' })] : []
      const body = cycleBody(index, { engagement, removals, candidates: index === 0 ? candidates : [] })
      const { status, text } = await admin.server.postCycle(body)
      expect(status, text).toBe(200)
    }
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })

  const language = (page: Page): Promise<string> => page.evaluate('document.documentElement.lang')

  test('is in the language of the browser; a button and a key change it, and the choice is remembered', async () => {
    const visitor = await visit(browser, admin, { locale: 'ko-KR' })
    const { page } = visitor
    await page.getByRole('region', { name: '최근 cycle' }).waitFor()
    expect([await language(page), await page.title()]).toEqual(['ko', '현황 · Understudy'])
    await page.getByRole('button', { name: /Switch to English/ }).click()
    await page.getByRole('region', { name: 'Last cycle' }).waitFor()
    expect([await language(page), await page.title()]).toEqual(['en', 'Now · Understudy'])
    await page.reload()
    await page.getByRole('region', { name: 'Last cycle' }).waitFor()
    await page.keyboard.press('l')
    await page.getByRole('region', { name: '최근 cycle' }).waitFor()
    expect(visitor.problems).toEqual([])
    await leave(visitor)
  })

  test('says in Korean what the service refuses', async () => {
    const visitor = await visit(browser, admin, { locale: 'ko-KR' })
    await open(visitor.page, 'posts/baseball/999')
    await visitor.page
      .getByText(/대기 이력 불러오기 실패: 저장된 cycle 중에 이 글\(baseball\/999\)/)
      .waitFor()
    await admin.server.call({ method: 'POST', path: '/v1/outcomes', body: '{' })
    await open(visitor.page, 'cycles')
    await visitor.page.getByRole('button', { name: '기타 거부' }).click()
    await visitor.page.getByText('400 본문이 중간에 끊겼습니다(바이트 위치 1)').waitFor()
    await leave(visitor)
  })

  test('shows a call and a stored cycle in Korean, within the page', async () => {
    const visitor = await visit(browser, admin, { locale: 'ko-KR' })
    const { page } = visitor
    await open(page, 'cycles')
    for (const list of ['호출', '저장됨']) {
      await page.getByRole('button', { name: list, exact: true }).click()
      await page.locator('.rows-body .row-link').first().click()
      const warnings = page.locator('.details .warnings li')
      await warnings.first().waitFor()
      for (const warning of await warnings.allInnerTexts()) expect(warning).toMatch(/[가-힣]/)
      for (const width of widths) {
        await page.setViewportSize({ width, height: 600 })
        await settled(page)
        expect(await overflows(page), `${list} at ${width} px`).toEqual([])
      }
    }
    await leave(visitor)
  })

  test('on a telephone, the names of the rows stay while a table scrolls sideways', async () => {
    const visitor = await visit(browser, admin)
    const { page } = visitor
    await page.setViewportSize({ width: 390, height: 844 })
    await open(page, 'report')
    await page.getByRole('region', { name: /^Table: Means/ }).waitFor()
    const [scrolled, ...gaps] = await page.evaluate<number[]>(
      `(() => {
        const box = document.querySelector('.wide-scroll[aria-label^="Table: Means"]')
        const leftOf = (element) => Math.round(element.getBoundingClientRect().left)
        box.scrollTo(1000, 0)
        return [box.scrollLeft, ...[...box.querySelectorAll('tr > :first-child')].map((cell) => leftOf(cell) - leftOf(box))]
      })()`,
    )
    expect(scrolled).toBeGreaterThan(100)
    expect(new Set(gaps)).toEqual(new Set([0]))
    await leave(visitor)
  })

  test.each(['now', 'picks', 'posts', 'posts/baseball/1', 'report', 'models', 'cycles'])(
    'in Korean %s fits its frame, has a name for each control, and breaks no rule of accessibility',
    async (view) => {
      const visitor = await visit(browser, admin, { locale: 'ko-KR' })
      const { page, problems } = visitor
      await open(page, view)
      if (view === 'report' || view.startsWith('posts')) await page.getByRole('table').first().waitFor()
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 })
        await settled(page)
        expect(await overflows(page), `at ${width} px`).toEqual([])
        expect(await misplacedIntervals(page), `at ${width} px`).toEqual([])
      }
      expect(await violations(page)).toEqual([])
      expect(await namelessControls(page)).toEqual([])
      expect(problems).toEqual([])
      await takeScreenshots(page, `ko-${view.split('/')[0] ?? ''}`)
      await leave(visitor)
    },
  )
})
