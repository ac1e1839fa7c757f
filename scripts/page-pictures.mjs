// Makes the pictures of the documentation anew: npm run pictures, or node scripts/page-pictures.mjs [DIRECTORY]. Starts
// `understudy demo` with the current build, waits for its day, and takes the views in a real Chromium (/usr/bin/chromium, or
// CHROMIUM). A system test runs it.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import sharp from 'sharp'
import { startDemo } from './demo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const outDir = resolve(process.argv[2] ?? join(root, 'docs/images'))
const size = { width: 1440, height: 900 }

/** By view: what shows that it has its data. The last of the charts of Now is there when all are. */
const views = { now: '.chart:last-child .plot canvas', picks: '.rows-body a', report: '.interval circle' }
const locales = { en: 'en-US', ko: 'ko-KR' }

const directory = mkdtempSync(join(tmpdir(), 'understudy-pictures-'))
const demo = await startDemo(directory)
try {
  const { address } = demo
  mkdirSync(outDir, { recursive: true })
  // Chromium's sandbox does not work for root.
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  for (const [language, locale] of Object.entries(locales)) {
    const context = await browser.newContext({ locale, viewport: size, reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(address)
    for (const [view, content] of Object.entries(views)) {
      await page.goto(`${new URL(address).origin}/#/${view}`)
      await page.locator(content).first().waitFor()
      // A canvas is drawn after it is there, and once more when it has its size.
      await page.evaluate(() => {
        const { requestAnimationFrame: frame } = globalThis
        return new Promise((done) => frame(() => frame(done)))
      })
      const path = join(outDir, `${view}-${language}.webp`)
      await sharp(await page.screenshot())
        .webp({ quality: 80 })
        .toFile(path)
      console.log(path)
    }
    await context.close()
  }
  await browser.close()
} finally {
  await demo.stop()
  rmSync(directory, { recursive: true, force: true })
}
