/**
 * The operators' page of a service whose models fail: a version that cannot be loaded, what is done about it, and the way back.
 * Skipped, with one line, if Chromium is not installed.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import {
  browserMissing,
  launch,
  open,
  overflows,
  settled,
  startedAdmin,
  violations,
  visit,
  widths,
  type Admin,
} from '../helpers/browser.js'
import { modelsDir as shipped, sigmoidGraph, writePackage } from '../helpers/model-packages.js'
import { projectDir } from '../helpers/project.js'

if (browserMissing)
  console.log('skipped: test/system/page-models.test.ts needs Chromium at /usr/bin/chromium')

/** Whatever interprets it leaves an element that the page itself never has, or changes the title. */
const hostile = `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202e{{7*7}}`
const intruders = '#page :is(script, iframe, object, embed, [onerror], img[src="x"])'

describe.skipIf(browserMissing)('the page', () => {
  // Its path must be quoted in a shell.
  const modelsDir = mkdtempSync(join(tmpdir(), "understudy operator's models-"))
  let admin: Admin
  let browser: Browser

  const activate = (version: string): void => writeFileSync(join(modelsDir, 'ACTIVE'), `${version}\n`)
  const postCycle = async (index: number, parts: Parameters<typeof cycleBody>[1] = {}): Promise<void> => {
    const { status, text } = await admin.server.postCycle(cycleBody(index, parts))
    expect(status, text).toBe(200)
  }
  /** Two posts are pending. */
  const cycleOfTwo = (index: number): Promise<void> =>
    postCycle(index, {
      ...(index === 0 ? { candidates: [1, 2].map((n) => candidate('g', n)) } : {}),
      engagement: [1, 2].map((n) => reading('g', n, cycleMs(index), { views: 100 * n + index })),
    })

  beforeAll(async () => {
    symlinkSync(join(shipped, 'transport-test-1'), join(modelsDir, 'transport-test-1'))
    const provenance = { trained_on: hostile }
    writePackage(modelsDir, 'small-1', sigmoidGraph, { kind: 'trained', provenance, note: hostile })
    writePackage(modelsDir, 'broken-1', sigmoidGraph)
    writeFileSync(join(modelsDir, 'broken-1', 'head.onnx'), 'no graph')
    mkdirSync(join(modelsDir, 'unreadable-1'))
    writeFileSync(join(modelsDir, 'unreadable-1', 'manifest.json'), JSON.stringify({ [hostile]: hostile }))
    activate('transport-test-1')
    writeFileSync(join(modelsDir, 'SHADOW'), 'small-1\n')
    const weights = { views: 1, comments: 1, up: 1, downvote_share: 0 }
    admin = await startedAdmin({
      UNDERSTUDY_MODELS_DIR: modelsDir,
      UNDERSTUDY_INITIAL_WEIGHTS: JSON.stringify({ version: hostile, weights }),
    })
    for (let index = 0; index < 13; index++) await cycleOfTwo(index)
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
    rmSync(modelsDir, { recursive: true })
  })

  test('a version that cannot be loaded is on each view, with its reason and what to do, until another is named', async () => {
    const { page, context } = await visit(browser, admin)
    const other = await context.newPage()
    await open(other, 'models')
    const card = other.getByRole('region', { name: 'broken-1' })
    await card.getByText('not in use').waitFor()
    await open(page, 'now')
    await page.getByRole('link', { name: 'working' }).waitFor()
    activate('broken-1')
    const notice = page.getByRole('region', { name: 'broken-1 failed to load' })
    await notice.waitFor()
    expect(await notice.innerText()).toMatch(/Activation failed: broken-1.*transport-test-1 keeps serving/s)
    const [verify, stay, ...others] = await notice.locator('code').allInnerTexts()
    expect(verify).toMatch(/^understudy models verify broken-1 /)
    expect(stay).toMatch(/^understudy models activate transport-test-1 /)
    expect(others).toEqual([])
    expect(pasted(verify ?? '')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('broken-1') as string,
    })
    await page
      .getByRole('link', { name: /^warning model: a model serves; broken-1 failed to load/ })
      .waitFor()
    await page
      .getByRole('status')
      .filter({ hasText: 'broken-1 failed to load' })
      .waitFor({ state: 'attached' })
    // The other view follows by itself.
    await card.getByText('failed', { exact: true }).waitFor()
    await card.getByText(/^Failed /).waitFor()
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await settled(page)
      expect(await overflows(page), `${width}`).toEqual([])
    }
    expect(await violations(page)).toEqual([])
    expect(pasted(stay ?? '')).toMatchObject({ status: 0, stderr: '' })
    await notice.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'working' }).waitFor()
    await card.getByText('not in use').waitFor()
    await context.close()
  })

  test('Models shows checks, cost, and how much a shadow agrees, all names as text', async () => {
    const { page, context, problems } = await visit(browser, admin)
    await open(page, 'models')
    const shadow = page.getByRole('region', { name: 'small-1' })
    await shadow.locator('.badge', { hasText: 'shadow' }).waitFor()
    await shadow.getByText(hostile).first().waitFor()
    expect(await shadow.innerText()).toMatch(/Memory\s+[\d.]+ MiB/)
    expect(await shadow.innerText()).toContain('understudy models shadow --none ')
    const serving = page.getByRole('region', { name: 'transport-test-1' })
    expect(await serving.innerText()).toMatch(/Time per cycle\s+[\d.]+ ms median, [\d.]+ ms p99 of 13 cycles/)
    await page.getByRole('region', { name: 'unreadable-1' }).getByText('The package cannot be read').waitFor()
    await serving.getByText('Checks: ').click()
    await serving.getByText(/5000 rows takes [\d.]+ ms/).waitFor()
    await shadow.getByText('Agreement with ').click()
    await shadow.getByText('Rank correlation').waitFor()
    // A package that fails has its report too.
    const broken = page.getByRole('region', { name: 'broken-1' })
    await broken.getByText('Checks: ').click()
    await broken.getByText('failed', { exact: true }).first().waitFor()
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await settled(page)
      expect(await overflows(page), `${width}`).toEqual([])
    }
    expect(await violations(page)).toEqual([])
    expect(await page.locator(intruders).count()).toBe(0)
    expect(problems).toEqual([])
    await context.close()
  })

  test('the serving version has the command that goes back to the one before', async () => {
    activate('small-1')
    const { page, context } = await visit(browser, admin)
    await open(page, 'models')
    const serving = page.getByRole('region', { name: 'small-1' })
    await serving.getByText('serving', { exact: true }).waitFor()
    await serving.getByText(/^understudy models activate transport-test-1 .* --data-dir /).waitFor()
    // A restart does not make it forget.
    await admin.server.restart()
    await cycleOfTwo(150)
    await open(page, 'models')
    await serving.getByText(/^understudy models activate transport-test-1 .* --data-dir /).waitFor()
    await context.close()
  })
})

/** What a command does in the shell of an operator, which has no settings of the service and another working directory. */
function pasted(command: string): SpawnSyncReturns<string> {
  const env = { PATH: `${join(projectDir, 'bin')}:${process.env['PATH'] ?? ''}` }
  return spawnSync('/bin/sh', ['-c', command], { cwd: tmpdir(), env, encoding: 'utf8' })
}
