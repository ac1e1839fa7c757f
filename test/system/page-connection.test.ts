/**
 * The connection of the operators' page: failing and hanging queries, a service that stops responding, hidden tabs, wrong
 * clocks, and responses that cross events. Skipped, with one line, if Chromium is not installed.
 */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Now } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import {
  browserMissing,
  launch,
  leave,
  screenshotsDir,
  settled,
  startedAdmin,
  visit,
  type Admin,
  type Visitor,
} from '../helpers/browser.js'
import { smallJpeg } from '../harness/jpeg.js'

if (browserMissing)
  console.log('skipped: test/system/page-connection.test.ts needs Chromium at /usr/bin/chromium')

const unavailable = {
  status: 503,
  json: { error: { code: 'unavailable', message: 'the disk does not respond' } },
}

describe.skipIf(browserMissing)('the page', () => {
  let admin: Admin
  let browser: Browser
  let visitor: Visitor
  let page: Page
  let nextCycle = 0

  const postCycle = async (parts: Parameters<typeof cycleBody>[1] = {}): Promise<void> => {
    const index = nextCycle++
    const engagement = [reading('g', 1, cycleMs(index), { views: 100 + index })]
    const { status, text } = await admin.server.postCycle(cycleBody(index, { engagement, ...parts }))
    expect(status, text).toBe(200)
  }
  /** A page whose scripts run after `script`. */
  const open = async (script: string): Promise<void> => {
    visitor = await visit(browser, admin)
    page = visitor.page
    await visitor.context.addInitScript({ content: script })
    await page.reload()
    await page.getByRole('region', { name: 'Last cycle' }).waitFor()
  }
  const stale = (text: string | RegExp) => page.getByRole('status').filter({ hasText: text })
  const streamCount = async (): Promise<number> => {
    const metrics = await (await fetch(`${admin.url}/metrics`)).text()
    return Number(/^understudy_event_streams (\d+)$/m.exec(metrics)?.[1])
  }

  beforeAll(async () => {
    admin = await startedAdmin({ UNDERSTUDY_LOG_LEVEL: 'debug' })
    const images = { images_in_post: 1, image_positions: [1] }
    await postCycle({ candidates: [candidate('g', 1, images), candidate('g', 2)] })
    const headers = { 'Content-Type': 'image/jpeg' }
    const image = { path: '/v1/images/g/1/01', body: await smallJpeg(90), headers }
    expect((await admin.server.call({ method: 'PUT', ...image })).status).toBe(201)
    await postCycle()
    browser = await launch()
  })
  afterEach(() => leave(visitor))
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })

  test('shows since when and why a view is stale while its query fails, and reads it again', async () => {
    await open('')
    await page.route('**/api/now', (route) => route.fulfill(unavailable))
    await postCycle()
    const notice = /^Stale since \d\d:\d\d:\d\d KST \(state\), because the disk does not respond\.$/
    await stale(notice).waitFor()
    await page.screenshot({ path: join(screenshotsDir, 'stale.png') })
    await page.unroute('**/api/now')
    // Without another event.
    await stale('Stale').waitFor({ state: 'detached' })
  })

  test('ends a query without a response, reports it, and tries again', async () => {
    await open(
      'const real = AbortSignal.timeout; AbortSignal.timeout = (ms) => real.call(AbortSignal, ms / 50)',
    )
    let hangingCount = 0
    await page.route('**/api/now', () => {
      hangingCount++
    })
    await postCycle()
    await stale(/\(state\), because the service does not respond within 25 s/).waitFor()
    await expect.poll(() => hangingCount).toBeGreaterThan(1)
    await page.unroute('**/api/now')
    await stale('Stale').waitFor({ state: 'detached' })
  })

  test('finds by missing heartbeats that the service hangs, and reports it before any request ends', async () => {
    await open('')
    const notice = page.getByText('No connection to the service.')
    process.kill(admin.server.pid!, 'SIGSTOP')
    try {
      // Two heartbeats are 10 s; a request would end after 25 s.
      await notice.waitFor()
    } finally {
      process.kill(admin.server.pid!, 'SIGCONT')
    }
    await notice.waitFor({ state: 'detached' })
    await page.getByText('live', { exact: true }).waitFor()
  })

  test('closes its stream after a minute in a hidden tab, and reads everything again when it is shown', async () => {
    await open(`const real = setTimeout
      window.setTimeout = (work, ms, ...rest) => real(work, ms === 60_000 ? 200 : ms, ...rest)`)
    const show = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))`)
    await expect.poll(streamCount).toBe(1)
    await show(true)
    await expect.poll(streamCount).toBe(0)
    await postCycle()
    await show(false)
    await expect.poll(streamCount).toBe(1)
    const newest = cycleBody(nextCycle - 1).cycle_id.slice(-2)
    await page.getByRole('region', { name: 'Last cycle' }).getByText(`03-01 00:${newest}`).waitFor()
  })

  test('computes ages with the clock of the service', async () => {
    await open('const real = Date.now; Date.now = () => real() + 7_200_000')
    await postCycle()
    const arrived = page.getByRole('region', { name: 'Last cycle' }).locator('time')
    await expect.poll(() => arrived.innerText()).toMatch(/^\d+ s ago$/)
  })

  test('announces a warning once, although the time in its reason counts up', async () => {
    await open('')
    let minutes = 0
    await page.route('**/api/now', async (route) => {
      const response = await route.fetch()
      const now = (await response.json()) as Now
      const checks = now.checks.map((one) => ({ ...one, status: one.check === 'last_cycle' ? 'warn' : 'ok' }))
      const last_cycle_received_at = new Date(Date.parse(now.time) - ++minutes * 60_000).toISOString()
      await route.fulfill({ response, json: { ...now, checks, last_cycle_received_at } })
    })
    await page.reload()
    for (const part of ['.live', '.health']) await page.locator(`.service-state ${part}`).waitFor()
    await postCycle()
    const newest = `03-01 00:${cycleBody(nextCycle - 1).cycle_id.slice(-2)}`
    await page.getByRole('region', { name: 'Last cycle' }).getByText(newest).waitFor()
    await settled(page)
    expect(await page.locator('p.sr-only[role=status]').textContent()).toContain(`Cycle ${newest}`)
  })

  test('shows a cycle once that is stored while the charts are read', async () => {
    visitor = await visit(browser, admin)
    page = visitor.page
    // Every response is older than the cycle, whose event comes first.
    let response: Promise<{ readonly body: Buffer }> | null = null
    await page.route('**/api/series', async (route) => {
      response ??= (async () => {
        const body = await (await route.fetch()).body()
        // Events of before the stream is open do not arrive.
        for (const part of ['.live', '.health']) await page.locator(`.service-state ${part}`).waitFor()
        await postCycle()
        await page.getByRole('status').filter({ hasText: 'Cycle 03-01' }).waitFor({ state: 'attached' })
        return { body }
      })()
      await route.fulfill({ contentType: 'application/json', ...(await response) })
    })
    await page.reload()
    await page.getByRole('heading', { name: new RegExp(`, ${nextCycle + 1} cycles$`) }).waitFor()
    await page.unroute('**/api/series')
    await postCycle()
    await page.getByRole('heading', { name: new RegExp(`, ${nextCycle} cycles$`) }).waitFor()
  })

  test('fetches an image once', async () => {
    await open('')
    const requests = () => admin.server.log.split('"path":"/api/posts/g/1/images/1"').length - 1
    const width = () => page.evaluate<number>("document.querySelector('.thumbnail[src]')?.naturalWidth")
    await page.goto('/#/picks')
    await expect.poll(width).toBe(64)
    await page.goto('/#/now')
    await page.goto('/#/picks')
    await expect.poll(width).toBe(64)
    await page.reload()
    await expect.poll(width).toBe(64)
    expect(requests()).toBe(1)
    const address = String(await page.locator('.thumbnail[src]').getAttribute('src'))
    const response = await page.request.get(address)
    expect(response.headers()['cache-control']).toBe('private, max-age=31536000, immutable')
    expect((await page.request.get(address.replace(/=.*/, '=0123456789abcdef'))).status()).toBe(404)
    const withoutHash = await page.request.get(address.replace(/\?.*/, ''))
    expect(withoutHash.headers()['cache-control']).toBe('no-store')
  })
})
