/**
 * The entry point of `npm run bench:page`: how long the operators' page takes from the start of the navigation to its first
 * data, in a browser without a cache, on a service with a full pool. Needs Chromium at /usr/bin/chromium, or CHROMIUM.
 */
import { chromium, type Browser } from 'playwright-core'
import { fillPool } from './cycles.js'
import { freePort } from './project.js'
import { cycleScenarios } from './scenarios.js'
import { withServer } from './server-under-test.js'
import { summarize } from './statistics.js'

const adminToken = 'bench-admin-token-0123456789'
const roundCount = 15
/** What shows the first data of a view. */
const views = { now: '.tile .figure', picks: '.rows-body a', cycles: '.rows-body button' }

const adminPort = String(await freePort())
const env = { UNDERSTUDY_ADMIN_PORT: adminPort, UNDERSTUDY_ADMIN_TOKEN: adminToken }
await withServer({ env }, async (server) => {
  await fillPool(server, cycleScenarios.full.shape)
  // Chromium's sandbox does not work for root.
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    await firstDataMs(browser, 'now', views.now)
    console.log('milliseconds from navigation to first data, 5,000 pending posts')
    for (const [view, content] of Object.entries(views)) {
      const samplesMs: number[] = []
      for (let round = 0; round < roundCount; round++)
        samplesMs.push(await firstDataMs(browser, view, content))
      const { p50, max } = summarize(samplesMs)
      console.log(`${view.padEnd(7)} median ${p50.toFixed(0)}, maximum ${max.toFixed(0)}`)
    }
  } finally {
    await browser.close()
  }
})

/** A context of its own has no cache. The time is that of the page: from the start of its navigation. */
async function firstDataMs(browser: Browser, view: string, content: string): Promise<number> {
  const context = await browser.newContext({ baseURL: `http://127.0.0.1:${adminPort}` })
  try {
    const page = await context.newPage()
    await page.goto(`/?token=${adminToken}#/${view}`, { waitUntil: 'commit' })
    return await page.evaluate<number>(`new Promise((resolve) => {
      const look = () =>
        document.querySelector(${JSON.stringify(content)}) === null
          ? requestAnimationFrame(look)
          : resolve(performance.now())
      look()
    })`)
  } finally {
    await context.close()
  }
}
