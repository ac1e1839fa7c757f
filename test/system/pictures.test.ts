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

test.skipIf(browserMissing)(
  'the script makes each picture that is in the documentation, in its size',
  async () => {
    await promisify(execFile)(process.execPath, ['scripts/page-pictures.mjs', made], { cwd: projectDir })
    expect(await sizesIn(made)).toEqual(await sizesIn(join(projectDir, 'docs/images')))
  },
)
