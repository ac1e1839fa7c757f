/**
 * A page that stays open for a day of cycles, over a restart of the service: what it holds does not grow. Skipped, with one
 * line, if Chromium is not installed.
 */
import type { Browser, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { browserMissing, launch, settled, startedAdmin, visit, type Admin } from '../helpers/browser.js'

if (browserMissing) console.log('skipped: test/system/page-day.test.ts needs Chromium at /usr/bin/chromium')

/** Of the history of a post. */
const cyclesShown = 48
const logCharsShown = 4000

interface Held {
  readonly heapBytes: number
  readonly nodes: number
  readonly listeners: number
}

describe.skipIf(browserMissing)('a page that stays open for a day', () => {
  let admin: Admin
  let browser: Browser
  let nextCycle = 0

  const postCycles = async (count: number): Promise<void> => {
    for (const end = nextCycle + count; nextCycle < end; nextCycle++) {
      const engagement = [reading('g', 1, cycleMs(nextCycle), { views: 100 + nextCycle })]
      const candidates = nextCycle === 0 ? [candidate('g', 1), candidate('g', 2)] : []
      const { status, text } = await admin.server.postCycle(cycleBody(nextCycle, { engagement, candidates }))
      // The log has the cause of a refusal.
      expect(status, `${text}\n${admin.server.log.slice(-logCharsShown)}`).toBe(200)
    }
  }

  beforeAll(async () => {
    admin = await startedAdmin()
    await postCycles(2)
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
  })

  /**
   * Waits until the history of a post has all the cycles that the page shows of one. A process of its own reads it, and keeps
   * what it had read when further cycles arrived: the next cycle makes the page ask again.
   */
  const shownCycles = async (page: Page): Promise<void> => {
    const rows = page.getByRole('table', { name: 'Score and rank by cycle' }).locator('tbody tr')
    const afterOneMore = async (): Promise<number> => {
      await postCycles(1)
      return rows.count()
    }
    // That process has the lowest priority.
    await expect.poll(afterOneMore, { interval: 500, timeout: 150_000 }).toBe(cyclesShown)
  }

  test.each([
    ['now', '.charts canvas', 1.2],
    ['picks', '.rows-body .row', 1.2],
    ['cycles', '.rows-body .row', 1.2],
    // Each cycle of the post is in its timeline and in its history: 0.6 to 2.1 MiB.
    ['posts/g/1', '.charts canvas', 3],
  ])('%s holds no more memory, nodes and listeners', { timeout: 400_000 }, async (...row) => {
    const [view, content, grownMiBMax] = row
    const { page, context } = await visit(browser, admin)
    const session = await context.newCDPSession(page)
    await page.goto(`/#/${view}`)
    await page.locator(content).first().waitFor()
    const live = page.getByText('live', { exact: true })
    // A point of the charts takes 2 kB, so they grow by less than 1 MiB.
    await postCycles(150)
    const heldNow = async (): Promise<Held> => {
      if (view.startsWith('posts/')) await shownCycles(page)
      await settled(page)
      return heldBy(session)
    }
    const before = await heldNow()
    for (let part = 0; part < 2; part++) {
      await postCycles(75)
      await admin.server.kill('SIGKILL')
      await page.getByText('No connection to the service.').waitFor()
      await admin.server.start()
      await live.waitFor()
      await postCycles(75)
    }
    const after = await heldNow()
    expect(after.heapBytes - before.heapBytes).toBeLessThan(grownMiBMax * 2 ** 20)
    // A component that did not render since keeps the rows of the table that were replaced last, once: Preact's vnodes refer to
    // their parents. Each restart would add a page, and 150 cycles ten tables, if they stayed.
    expect(after.nodes).toBeLessThan(1.5 * before.nodes + 100)
    expect(after.listeners).toBeLessThan(1.2 * before.listeners + 20)
    await context.close()
  })
})

/** The least of several readings: what a response that just arrived holds is not kept. */
async function heldBy(session: CDPSession): Promise<Held> {
  const readings: Held[] = []
  for (let i = 0; i < 5; i++) readings.push(await readingOf(session))
  return readings.reduce((least, each) => (each.heapBytes < least.heapBytes ? each : least))
}

async function readingOf(session: CDPSession): Promise<Held> {
  await session.send('Performance.enable')
  // Nodes and listeners are released by one collection, what they held by the next.
  for (let i = 0; i < 3; i++) await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const valueOf = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? NaN
  return {
    heapBytes: valueOf('JSHeapUsedSize'),
    nodes: valueOf('Nodes'),
    listeners: valueOf('JSEventListeners'),
  }
}
