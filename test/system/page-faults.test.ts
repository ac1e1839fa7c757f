/**
 * The operators' page when something is wrong: no token, hostile texts in every field, a server that restarts, a browser that
 * is left open. And what the page weighs. Skipped, with one line, if Chromium is not installed.
 */
import type { Browser, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { browserMissing, launch, settled, startedAdmin, visit, type Admin } from '../helpers/browser.js'

if (browserMissing)
  console.log('skipped: test/system/page-faults.test.ts needs Chromium at /usr/bin/chromium')

/** Whatever interprets it leaves an element that the page itself never has, or changes the title. */
const hostile = `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script><iframe srcdoc="x"></iframe>\u202e{{7*7}}`
const hostileGallery = `<img src=x onerror="document.title='hit'">/..?#%`
const intruders = '#page :is(script, iframe, object, embed, [onerror], img[src="x"])'

describe.skipIf(browserMissing)('the page', () => {
  let admin: Admin
  let browser: Browser
  let nextCycle = 0

  const postCycle = async (parts: Parameters<typeof cycleBody>[1] = {}): Promise<void> => {
    const index = nextCycle++
    const engagement = [reading(hostileGallery, 1, cycleMs(index), { views: 100 + index })]
    const { status, text } = await admin.server.postCycle(cycleBody(index, { engagement, ...parts }))
    expect(status, text).toBe(200)
  }

  beforeAll(async () => {
    admin = await startedAdmin()
    const candidates = [1, 2].map((n) => candidate(hostileGallery, n, { title: hostile, body_html: hostile }))
    await postCycle({ candidates })
    await postCycle({ removals: [removal(hostileGallery, 2, { reason: 'saved', tier: 'main' })] })
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })

  test('needs the token, removes it from the address, and keeps no copy of it', async () => {
    const context = await browser.newContext({ baseURL: admin.url })
    const page = await context.newPage()
    for (const path of ['/', '/assets/x.js', '/?token=wrong'])
      expect((await page.goto(path))?.status()).toBe(401)
    await page.goto(`/?token=${admin.token}`)
    await page.getByRole('region', { name: 'Last cycle' }).waitFor()
    expect(page.url()).toBe(`${admin.url}/`)
    expect(await page.evaluate<string>('JSON.stringify([localStorage, document.cookie])')).not.toContain(
      admin.token,
    )
    await context.close()
  })

  test('shows hostile titles, texts, galleries and problems as text', async () => {
    const { page, context, problems } = await visit(browser, admin)
    const refused = { ...cycleBody(30), [hostile]: 1, candidates: [{ gall_id: hostile, post_no: hostile }] }
    expect((await admin.server.postCycle(refused)).status).toBe(400)
    // A warning quotes the names of unknown fields and the galleries of posts.
    const unknownField: object = { [hostile]: 1 }
    await postCycle({ ...unknownField, removals: [removal(hostileGallery, 99)] })
    const post = `posts/${encodeURIComponent(hostileGallery)}/1`
    for (const place of ['now', 'picks', post, 'report', 'models', 'cycles']) {
      await page.goto(`/#/${place}`)
      await page.locator('main h1').first().waitFor({ state: 'attached' })
      if (place === 'picks') await page.getByRole('link', { name: hostile }).first().waitFor()
      if (place === post) {
        await page.locator('.post-text').waitFor()
        await page.getByRole('button', { name: 'As received' }).click()
        expect(await page.locator('.post-text').innerText()).toBe(hostile)
        await page.getByRole('table', { name: /Inputs/ }).waitFor()
      }
      if (place === 'report') {
        await page.getByRole('table', { name: /Means/ }).waitFor()
        // Under the Content-Security-Policy of the service.
        const download = page.waitForEvent('download')
        await page.getByRole('button', { name: 'Save as a file' }).click()
        expect((await download).suggestedFilename()).toBe('report-2024-03-01.html')
      }
      if (place === 'cycles') {
        await page.locator('.row-link').first().click()
        await page.getByText(`${hostileGallery}/99`).first().waitFor()
        const download = page.waitForEvent('download')
        await page.locator('.details a[download]').last().click()
        expect((await download).suggestedFilename()).toBe('20240301T0010-response.json')
      }
      await settled(page)
      expect(await page.locator(intruders).count(), place).toBe(0)
      expect(await page.title(), place).toMatch(/ · Understudy$/)
    }
    expect(problems).toEqual([])
    await context.close()
  })

  test('shows stale data as stale while the server is away, and continues when it is back', async () => {
    const { page, context } = await visit(browser, admin)
    await page.getByRole('region', { name: 'Last cycle' }).waitFor()
    await admin.server.kill('SIGKILL')
    const notice = page.getByText('No connection to the service.')
    await notice.waitFor()
    expect(await page.locator('[data-notice=stale]').innerText()).toMatch(
      /What is shown is from \d\d:\d\d:\d\d KST/,
    )
    expect(await page.getByText('working', { exact: true }).count()).toBe(0)
    await admin.server.start()
    await notice.waitFor({ state: 'detached' })
    await page.getByText('working', { exact: true }).waitFor()
    await postCycle()
    const newest = new Date(cycleMs(nextCycle - 1) + 9 * 3_600_000).toISOString().slice('YYYY-'.length, -8)
    const lastCycle = page.getByRole('region', { name: 'Last cycle' })
    await lastCycle.getByText(newest.replace('T', ' ')).waitFor()
    // Without its cookie it cannot continue.
    await context.clearCookies()
    await admin.server.restart()
    await page.getByText('The service does not accept this session.').waitFor()
    await context.close()
  })

  test('weighs less than 200 kB compressed, and browsers keep its files', async () => {
    const context = await browser.newContext({ baseURL: admin.url })
    const page = await context.newPage()
    const finished: Request[] = []
    page.on('requestfinished', (request) => {
      if (!request.url().includes('/api/')) finished.push(request)
    })
    const assets: { readonly url: string; readonly headers: Record<string, string> }[] = []
    page.on('response', (response) => {
      if (response.url().includes('/assets/'))
        assets.push({ url: response.url(), headers: response.headers() })
    })
    await page.goto(`/?token=${admin.token}`)
    await page.locator('.chart').first().waitFor()
    // Asked here, not as they finish: one that finishes while the context closes would fail outside the test.
    const sizes = await Promise.all(finished.map((request) => request.sizes()))
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(200_000)
    expect(assets.length).toBeGreaterThanOrEqual(2)
    for (const { url, headers } of assets) {
      expect(url).toMatch(/-[\w-]{8}\.(js|css|svg)$/)
      expect(headers['cache-control']).toBe('private, max-age=31536000, immutable')
      expect(headers['content-encoding']).toBe('br')
    }
    await context.close()
  })
})
