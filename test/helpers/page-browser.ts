/** Global setup of the page lane: the built page, and one Chromium for all its files. */
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import build from './build.js'
import { browserMissing, launchOptions } from './browser.js'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  build('page')
  project.onTestsRerun(() => build('page'))
  if (browserMissing) {
    console.log('skipped: the tests of test/page need Chromium at /usr/bin/chromium')
    project.provide('chromium', '')
    return () => Promise.resolve()
  }
  const server = await chromium.launchServer(launchOptions)
  project.provide('chromium', server.wsEndpoint())
  return () => server.close()
}
