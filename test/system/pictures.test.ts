/** The pictures of the documentation: a script makes all of them from a demo. Skipped, with one line, without Chromium. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { afterAll, expect, test } from 'vitest'
import { browserMissing } from '../helpers/browser.js'
import { projectDir } from '../helpers/server-process.js'

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

/** Within the plots of the four charts of Now. */
const plots = [300, 900].flatMap((left) => [470, 730].map((top) => ({ left, top, width: 400, height: 90 })))

/** The largest standard deviation of a colour in each plot: 0 where nothing is drawn. */
function contrastsIn(file: string): Promise<number[]> {
  return Promise.all(
    plots.map(async (plot) => {
      const { channels } = await sharp(await sharp(file).extract(plot).removeAlpha().toBuffer()).stats()
      return Math.max(...channels.map(({ stdev }) => stdev))
    }),
  )
}

test.each(['now-en.webp', 'now-ko.webp'])('the charts of %s are drawn', async (name) => {
  expect(Math.min(...(await contrastsIn(join(projectDir, 'docs/images', name))))).toBeGreaterThan(5)
})

test.skipIf(browserMissing)(
  'the script makes each picture that is in the documentation, in its size',
  async () => {
    await promisify(execFile)(process.execPath, ['scripts/page-pictures.mjs', made], { cwd: projectDir })
    expect(await sizesIn(made)).toEqual(await sizesIn(join(projectDir, 'docs/images')))
    for (const language of ['en', 'ko'])
      expect(Math.min(...(await contrastsIn(join(made, `now-${language}.webp`))))).toBeGreaterThan(5)
  },
)
