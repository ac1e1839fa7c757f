/** The pictures of the documentation: a script makes all of them from a demo. Skipped, with one line, without Chromium. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { afterAll, expect, test } from 'vitest'
import { browserMissing } from '../helpers/browser.js'
import { projectDir } from '../helpers/project.js'

if (browserMissing) console.log('skipped: test/system/pictures.test.ts needs Chromium at /usr/bin/chromium')

const made = mkdtempSync(join(tmpdir(), 'understudy-pictures-test-'))
afterAll(() => rmSync(made, { recursive: true }))

async function sizesIn(directory: string): Promise<Record<string, string>> {
  const sizes: Record<string, string> = {}
  for (const name of readdirSync(directory).sort()) {
    const { width, height } = await sharp(join(directory, name)).metadata()
    sizes[name] = `${width}x${height}`
  }
  return sizes
}

/** The plots of the four charts of Now, without their axes and legends. */
const plots = [300, 900].flatMap((left) => [465, 725].map((top) => ({ left, top, width: 400, height: 120 })))

/** In each plot, the pixels with a colour: the lines of the axes are grey, and so is what is not drawn. */
function colouredPixelsIn(file: string): Promise<number[]> {
  return Promise.all(
    plots.map(async (plot) => {
      const pixels = await sharp(file).extract(plot).removeAlpha().raw().toBuffer()
      let count = 0
      for (let i = 0; i < pixels.length; i += 3) {
        const rgb = pixels.subarray(i, i + 3)
        if (Math.max(...rgb) - Math.min(...rgb) > 40) count++
      }
      return count
    }),
  )
}

/** One thin line through a plot has about four hundred. */
const pixelsMin = 200

test.each(['now-en.webp', 'now-ko.webp'])('the charts of %s are drawn', async (name) => {
  expect(Math.min(...(await colouredPixelsIn(join(projectDir, 'docs/images', name))))).toBeGreaterThan(
    pixelsMin,
  )
})

test.skipIf(browserMissing)(
  'the script makes each picture that is in the documentation, in its size',
  async () => {
    await promisify(execFile)(process.execPath, ['scripts/page-pictures.mjs', made], { cwd: projectDir })
    expect(await sizesIn(made)).toEqual(await sizesIn(join(projectDir, 'docs/images')))
    for (const language of ['en', 'ko'])
      expect(Math.min(...(await colouredPixelsIn(join(made, `now-${language}.webp`))))).toBeGreaterThan(
        pixelsMin,
      )
  },
)
