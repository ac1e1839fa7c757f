/**
 * The operators' page in states that are rare: no cycle yet, no response, a model that cannot be loaded, hostile names, few
 * posts, another time zone. Skipped, with one line, if Chromium is not installed.
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
  leave,
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
  console.log('skipped: test/system/page-states.test.ts needs Chromium at /usr/bin/chromium')

/** Whatever interprets it leaves an element that the page itself never has, or changes the title. */
const hostile = `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202e{{7*7}}`
const intruders = '#page :is(script, iframe, object, embed, [onerror], img[src="x"])'
const views = ['now', 'picks', 'report', 'models', 'cycles']

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
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await admin.server.dispose()
    rmSync(modelsDir, { recursive: true })
  })

  test.each([
    ['now', 'No cycle has arrived yet'],
    ['picks', 'No post is pending.'],
    ['report', 'No cycle is stored yet.'],
    ['cycles', /./],
  ])('%s shows that there is nothing yet', async (view, text) => {
    const { page, context, problems } = await visit(browser, admin)
    await open(page, view)
    await page.locator('main').getByText(text).first().waitFor()
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await settled(page)
      expect(await violations(page), `${width}`).toEqual([])
      expect(await overflows(page), `${width}`).toEqual([])
    }
    expect(problems).toEqual([])
    await context.close()
  })

  test.each(views)('%s shows why it has no data, as text', async (view) => {
    const { page, context } = await visit(browser, admin)
    const body = JSON.stringify({ error: { code: 'server_error', message: `disk ${hostile}` } })
    const headers = { 'Content-Type': 'application/json' }
    await page.route(/\/api\/(?!events)/, (route) => route.fulfill({ status: 500, headers, body }))
    await open(page, view)
    await page.locator('main').getByText(`disk ${hostile}`).first().waitFor()
    expect(await page.locator(intruders).count()).toBe(0)
    expect(await violations(page)).toEqual([])
    await leave({ page, context })
  })

  test('the axes of counts have integers, and the times are round in Korea, wherever the reader is', async () => {
    // Two posts: an axis with fractions would repeat its labels. 12 hours: the ticks are hours.
    for (let index = 0; index <= 144; index += 12) await cycleOfTwo(index)
    const { page, context } = await visit(browser, admin, { timezoneId: 'Asia/Kathmandu' })
    await context.addInitScript({ content: recordTexts })
    await open(page, 'now')
    // A chart has its place before it is drawn.
    await page
      .getByRole('img', { name: /^Results/ })
      .locator('canvas')
      .waitFor()
    await settled(page)
    const labels = await page.evaluate<string[]>('drawnTexts')
    const times = labels.filter((text) => /:|-/.test(text))
    expect(times.length).toBeGreaterThan(4)
    expect(times.filter((text) => !/^(\d\d:00|03-01)$/.test(text))).toEqual([])
    expect(new Set(labels.filter((text) => /^\d+$/.test(text)))).toEqual(new Set(['0', '1', '2']))
    expect(await page.getByRole('heading', { name: 'Last 12 h, 13 cycles' }).count()).toBe(1)
    await context.close()
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
    await shadow.getByText('shadow', { exact: true }).waitFor()
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

  test('names of weights are text', async () => {
    const { page, context, problems } = await visit(browser, admin)
    for (const view of ['now', 'report']) {
      await open(page, view)
      await page.locator('main').getByText(hostile).first().waitFor()
      expect(await page.locator(intruders).count()).toBe(0)
      expect(await page.locator('main bdi').filter({ hasText: hostile }).count()).toBeGreaterThan(0)
      expect(await page.title()).toMatch(/ · Understudy$/)
    }
    expect(problems).toEqual([])
    await context.close()
  })
})

/** What a command does in the shell of an operator, which has no settings of the service and another working directory. */
function pasted(command: string): SpawnSyncReturns<string> {
  const env = { PATH: `${join(projectDir, 'bin')}:${process.env['PATH'] ?? ''}` }
  return spawnSync('/bin/sh', ['-c', command], { cwd: tmpdir(), env, encoding: 'utf8' })
}

/** What the charts write on their canvases. */
const recordTexts = `
  globalThis.drawnTexts = []
  const { prototype } = CanvasRenderingContext2D
  const draw = prototype.fillText
  prototype.fillText = function (text, ...rest) {
    drawnTexts.push(text)
    draw.call(this, text, ...rest)
  }
`
