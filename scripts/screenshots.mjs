// Takes the screenshots for docs/operating.md: node scripts/screenshots.mjs [DIRECTORY], docs/screenshots by default. Runs
// `understudy demo` with a simulated day, waits for its end, and writes Now, Picks, Models and Post as WebP. Needs
// `npm run build`, and Chromium at /usr/bin/chromium or at $CHROMIUM. Commit the files by hand.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import sharp from 'sharp'

/** Each with the element that appears last, and the height of the screenshot. Post shows the best pick. */
const views = [
  { view: 'now', lastPart: 'canvas', height: 800 },
  { view: 'picks', lastPart: '.rows-body img', height: 640 },
  { view: 'models', lastPart: '.card', height: 640 },
  { view: 'post', lastPart: '.effect-bar', height: 800 },
]
const bytesMax = 60_000
const width = 1280
const outDir = resolve(process.argv[2] ?? fileURLToPath(new URL('../docs/screenshots', import.meta.url)))
const executable = fileURLToPath(new URL('../bin/understudy', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'understudy-screenshots-'))
const demo = spawn(executable, ['demo', '--port', '0'], {
  cwd: directory,
  env: { ...process.env, UNDERSTUDY_ADMIN_PORT: '0' },
  stdio: ['ignore', 'pipe', 'pipe'],
})
demo.stderr.pipe(process.stderr)

try {
  const [[, address]] = await Promise.all([
    printed(demo.stderr, /^understudy: admin: (\S+)\n/m),
    printed(demo.stdout, /runs until Ctrl-C/),
  ])
  await takeScreenshots(address)
} finally {
  demo.kill('SIGINT')
  await new Promise((ended) => demo.once('close', ended))
  rmSync(directory, { recursive: true })
}

/** `address`: of the page, with the token. */
async function takeScreenshots(address) {
  mkdirSync(outDir, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const page = await browser.newPage({ baseURL: address, reducedMotion: 'reduce' })
    await page.goto(address)
    for (const { view, lastPart, height } of views) {
      await page.setViewportSize({ width, height })
      if (view === 'post') await openBestPick(page)
      else await page.goto(`/#/${view}`)
      await page.locator(lastPart).first().waitFor({ timeout: 120_000 })
      await page.evaluate('Promise.allSettled([...document.images].map((image) => image.decode()))')
      const image = await sharp(await page.screenshot())
        .webp({ quality: 55 })
        .toBuffer()
      if (image.length > bytesMax) throw new Error(`the screenshot of ${view} has ${image.length} bytes`)
      writeFileSync(join(outDir, `${view}.webp`), image)
      console.log(`${view}.webp ${image.length} bytes`)
    }
  } finally {
    await browser.close()
  }
}

async function openBestPick(page) {
  await page.goto('/#/picks')
  await page.locator('.rows-body a').first().click()
}

/** Resolves with the match when the demo has printed a text of this form; rejects if it ends before. */
function printed(stream, form) {
  let output = ''
  return new Promise((found, fail) => {
    stream.on('data', (chunk) => {
      output += chunk
      const match = form.exec(output)
      if (match !== null) found(match)
    })
    stream.once('close', () => fail(new Error('the demo ended')))
  })
}
