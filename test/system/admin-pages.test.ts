/**
 * The login form in a real Chromium, under the Content-Security-Policy. Skipped, with one line,
 * if Chromium is not installed.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  browserMissing,
  launch,
  overflows,
  startedAdmin,
  takeScreenshots,
  violations,
  type Admin,
} from '../helpers/browser.js'

if (browserMissing)
  console.log('skipped: test/system/admin-pages.test.ts needs Chromium at /usr/bin/chromium')

describe.skipIf(browserMissing)('without a script', () => {
  let admin: Admin
  let browser: Browser
  beforeAll(async () => {
    admin = await startedAdmin()
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })

  /** A page of a new browser without a cookie, and what its console reports. */
  async function open(path: string): Promise<{ page: Page; problems: string[] }> {
    const context = await browser.newContext({ baseURL: admin.url, javaScriptEnabled: true })
    const page = await context.newPage()
    const problems: string[] = []
    page.on('console', (message) => problems.push(message.text()))
    page.on('requestfailed', (request) => problems.push(request.url()))
    await page.goto(path)
    return { page, problems }
  }

  async function expectWellMade(page: Page, name: string): Promise<void> {
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations(page), colorScheme).toEqual([])
    }
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect(await overflows(page), `at ${width} px`).toEqual([])
    }
    await takeScreenshots(page, name)
  }

  test('a browser without the cookie gets a form, which takes the token and nothing else', async () => {
    const { page, problems } = await open('/')
    // The browser itself reports the status.
    await expect.poll(() => problems).toEqual([expect.stringContaining('401')])
    await expectWellMade(page, 'login')
    const signIn = async (token: string): Promise<void> => {
      await page.getByLabel('Admin token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await signIn('not the token')
    expect(await page.getByRole('alert').innerText()).toBe('This is not the admin token.')
    await signIn(admin.token)
    await page.locator('main h1').first().waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    expect((await page.request.get('/api/now')).status()).toBe(200)
    expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }])
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([])
    await page.context().close()
  })
})
