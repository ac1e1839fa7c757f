/**
 * The API documentation and the login form in a real Chromium, under the Content-Security-Policy. Skipped, with one line,
 * if Chromium is not installed.
 */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiDocument } from '../../src/contract/index.js'
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

  test('/docs shows every operation, parameter, error and type of the OpenAPI document', async () => {
    const { page, problems } = await open('/docs')
    const { paths, components } = openApiDocument() as unknown as {
      paths: Record<string, Record<string, { operationId: string; summary: string }>>
      components: Record<'responses' | 'schemas' | 'parameters', Record<string, { name?: string }>>
    }
    const text = await page.locator('main').innerText()
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { operationId, summary }] of Object.entries(methods)) {
        const section = page.locator(`section#${operationId}`)
        expect(await section.locator('h3').innerText()).toBe(`${method.toUpperCase()} ${path}`)
        expect(await section.innerText()).toContain(summary)
      }
    for (const { name = '' } of Object.values(components.parameters)) expect(text).toContain(name)
    const ids = [
      ...Object.keys(components.responses).map((name) => `error-${name}`),
      ...Object.keys(components.schemas).map((name) => `type-${name}`),
    ]
    for (const id of ids) expect(await page.locator(`section#${id}`).count(), id).toBe(1)
    expect(text).not.toMatch(/undefined|\[object|\*\*|`/)
    const broken = await page.evaluate<string[]>(
      '[...document.querySelectorAll(\'a[href^="#"]\')].map((a) => a.hash).filter((hash) => !document.querySelector(hash))',
    )
    expect(broken).toEqual([])
    await expectWellMade(page, 'docs')
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('a browser without the cookie gets a form, which takes the token and nothing else', async () => {
    const { page, problems } = await open('/')
    // The browser itself reports the status.
    expect(problems).toEqual([expect.stringContaining('401')])
    await expectWellMade(page, 'login')
    const signIn = async (token: string): Promise<void> => {
      await page.getByLabel('Admin token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await signIn('not the token')
    expect(await page.getByRole('alert').innerText()).toBe('this is not the admin token')
    await signIn(admin.token)
    await page.locator('main h1').first().waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    expect((await page.request.get('/api/now')).status()).toBe(200)
    expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }])
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([])
    await page.context().close()
  })
})
