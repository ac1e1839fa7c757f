/**
 * A real Chromium for tests of the operators' page, by playwright-core, and the checks of every page: no error on
 * its console, no violation found by axe-core, screenshots at three widths.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { freePort, projectDir, ServerProcess } from '../harness/server.js'

/** That of Debian, or the one that a developer names. */
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export const browserMissing = !existsSync(executablePath)

/** Not in version control. */
export const screenshotsDir = join(projectDir, 'test/screenshots')

export const widths = [390, 1024, 1440] as const
const heights: Readonly<Record<(typeof widths)[number], number>> = { 390: 844, 1024: 768, 1440: 900 }

export interface Admin {
  readonly server: ServerProcess
  readonly url: string
  readonly token: string
}

/** A server with its admin listener. `env`: further settings. */
export async function startedAdmin(env: Record<string, string> = {}): Promise<Admin> {
  const port = await freePort()
  const server = await new ServerProcess({ UNDERSTUDY_ADMIN_PORT: String(port), ...env }).start()
  const token = readFileSync(join(server.dataDir, 'admin-token'), 'utf8').trim()
  return { server, url: `http://127.0.0.1:${port}`, token }
}

/** Chromium's sandbox does not work for root. */
export const launchOptions = { executablePath, args: ['--no-sandbox', '--disable-gpu'] }

export function launch(): Promise<Browser> {
  return chromium.launch(launchOptions)
}

export interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors and warnings of its console with the address they are about, uncaught errors, and dialogs. */
  readonly problems: string[]
  /** From now on these are no problems. The browser may report a response after the page has shown it. */
  readonly expectProblems: (pattern: RegExp) => void
}

export interface VisitorOptions {
  readonly timezoneId?: string
  readonly locale?: string
}

/** A page of its own. A time zone other than KST reveals code that depends on it. */
export async function newVisitor(
  browser: Browser,
  {
    baseURL,
    timezoneId = 'America/New_York',
    locale = 'en-US',
  }: VisitorOptions & { readonly baseURL: string },
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL,
    timezoneId,
    locale,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    // The certificates of the tests are signed by nobody.
    ignoreHTTPSErrors: true,
  })
  // Each load begins with the colours of the system.
  await context.addInitScript({ content: "try { localStorage.removeItem('understudy-theme') } catch {}" })
  // Reports run at the lowest priority. Longer than any wait of a test, and shorter than the test may take.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const problems: string[] = []
  const expected: RegExp[] = []
  const report = (text: string): void => {
    if (!expected.some((pattern) => pattern.test(text))) problems.push(text)
  }
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) report(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', ({ message }) => report(message))
  page.on('dialog', (dialog) => {
    report(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { page, context, problems, expectProblems: (pattern) => void expected.push(pattern) }
}

/** A visitor who has signed in. */
export async function visit(
  browser: Browser,
  { url, token }: Admin,
  options: VisitorOptions = {},
): Promise<Visitor> {
  const visitor = await newVisitor(browser, { baseURL: url, ...options })
  await visitor.page.goto(`/?token=${token}`)
  await visitor.page.locator('main').waitFor()
  return visitor
}

/** Ends a visit. Pending mock responses are dropped; they would fail outside the test. */
export async function leave({ page, context }: Pick<Visitor, 'page' | 'context'>): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.close()
}

/** What axe-core finds, one line per violation. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const found = await page.evaluate<Pick<axe.AxeResults, 'violations'>>(
    "axe.run(document, { resultTypes: ['violations'] })",
  )
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
}

/** Screenshots of a view at each width, dark and light. */
export async function takeScreenshots(page: Page, name: string): Promise<void> {
  mkdirSync(screenshotsDir, { recursive: true })
  for (const width of widths)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: heights[width] })
      await settled(page)
      await page.screenshot({ path: join(screenshotsDir, `${name}-${width}-${colorScheme}.png`) })
    }
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize({ width: 1440, height: 900 })
}

/** Two frames later: what a change of size or scroll position has caused is drawn. */
export function settled(page: Page): Promise<void> {
  return page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))',
  )
}

/**
 * What does not fit its frame: the page and a view that is one long list, whose parts scroll; in its width a panel, a cell of the
 * checks, on a phone the state of the service, and a table, which may scroll sideways below 1024 pixels if it has more than four
 * columns and leaves none out.
 */
export function overflows(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[document.documentElement, ...document.querySelectorAll('main, .panel, .check, .notice, .wide-scroll, .health')]
      .filter((box) => !box.matches('.health') || innerWidth < 600)
      .filter((box) => innerWidth >= 1024 ||
        !box.querySelector(':scope > table:not(:has(.wide-only)) :is(th:nth-child(5), .interval)'))
      .filter((box) => box.scrollWidth > box.clientWidth ||
        (box.matches('html, main:has(.fills)') && box.scrollHeight > box.clientHeight))
      .map(({ className, innerText }) => className + ': ' + innerText.slice(0, 80))`,
  )
}

/** Rows with an interval that is drawn on another scale, or at another place, than the axis above it. */
export function misplacedIntervals(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('table')].flatMap((table) =>
      [...table.querySelectorAll('thead th')].flatMap((head, column) => {
        const axis = head.querySelector('.axis')?.getScreenCTM()
        if (axis === undefined) return []
        return [...table.querySelectorAll('tbody tr')].flatMap((row) => {
          const drawing = row.cells[column].querySelector('svg')?.getScreenCTM()
          if (drawing === undefined) return []
          const isSame = Math.abs(drawing.e - axis.e) < 1 && Math.abs(drawing.a / axis.a - 1) < 0.01
          return isSame ? [] : [row.innerText]
        })
      }))`,
  )
}

/** Opens a view without state of the previous one: a change of the part after # alone would keep its state. */
export async function open(page: Page, view: string): Promise<void> {
  await page.goto('about:blank')
  await page.goto(`/#/${view}`)
  await page.locator('main h1').first().waitFor({ state: 'attached' })
}

/**
 * Presses a key in the moment in which the document first contains `selector`, before it is drawn. Resolves to the text
 * of the element that has the focus then.
 */
export function pressOnceShown(page: Page, selector: string, key: string): Promise<string> {
  return page.evaluate<string>(`new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (document.querySelector('${selector}') === null) return
      observer.disconnect()
      const focused = document.activeElement
      focused.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }))
      resolve(focused.textContent)
    })
    observer.observe(document.body, { childList: true, subtree: true })
  })`)
}

/** Controls without a name for screen readers. */
export async function namelessControls(page: Page): Promise<string[]> {
  const tree = await page.locator('body').ariaSnapshot()
  return tree
    .split('\n')
    .filter((line) => /^\s*- (button|link|textbox|searchbox|combobox|checkbox|table|dialog)(?! ")/.test(line))
}

/**
 * Presses Tab until the focus has been everywhere. One line for each control that it does not reach, and for each that does
 * not show the focus. Within a virtual table other keys move between the rows.
 */
export async function unreachableControls(page: Page): Promise<string[]> {
  const count = await page.evaluate<number>(
    `(() => {
      document.activeElement.blur()
      const found = [...document.querySelectorAll('a[href], button, input, select, summary')]
        .filter((control) => control.checkVisibility() && !control.disabled && !control.closest('.rows-body'))
      found.forEach((control, index) => (control.dataset.control = index))
      return found.length
    })()`,
  )
  const problems = new Set<string>()
  const open = new Set(Array.from({ length: count }, (_, index) => String(index)))
  // The regions that scroll take the focus too.
  for (let step = 0; step < 2 * count + 20 && open.size > 0; step++) {
    await page.keyboard.press('Tab')
    const [control, outline] = await page.evaluate<[string | null, string]>(
      `[document.activeElement.dataset.control ?? null, getComputedStyle(document.activeElement).outlineStyle]`,
    )
    if (control !== null) open.delete(control)
    if (control !== null && outline === 'none') problems.add(`control ${control} does not show the focus`)
  }
  for (const control of open)
    problems.add(
      await page.evaluate<string>(
        `'not reached: ' + document.querySelector('[data-control="${control}"]').outerHTML`,
      ),
    )
  return [...problems]
}
