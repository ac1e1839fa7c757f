/**
 * The built page in the lane's Chromium, without a service: `/api` is answered with fixtures, the clock stands still, and a test
 * sends the events of the stream. What is read of it is what a reader sees: tiles, facts and tables by their labels.
 */
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { chromium, type Browser, type Locator, type Page, type Route } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import { newVisitor, type Visitor, type VisitorOptions } from './browser.js'
import { fixtureOf, fixtureTime } from './page-api.js'
import { projectDir } from './project.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the lane's browser; empty: there is none. */
    readonly chromium: string
  }
}

/** Of an origin that may use the clipboard. */
export const origin = 'https://page.test'
const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** A response other than 200. */
export class Failure {
  constructor(
    readonly status: number,
    readonly message: string,
  ) {}
}

/** Makes a response: JSON, the bytes of an image, or a `Failure`. Undefined: that of the fixtures. */
type Answer = (query: URLSearchParams) => unknown

/** By path below `/api`: a response, or an `Answer`. */
export type Responses = Readonly<Record<string, unknown>>

interface ShowOptions {
  /** The time in which the page is. */
  readonly at?: string | number
  /** False: do not wait for the responses. */
  readonly isRead?: boolean
}

/** The page of one test file. Its members may be used in tests and hooks. */
export class PageLane {
  #visitor: Visitor | null = null
  #responses: Responses = {}

  get visitor(): Visitor {
    if (this.#visitor === null) throw new Error('the lane is not open')
    return this.#visitor
  }

  get page(): Page {
    return this.visitor.page
  }

  async open(browser: Browser, options: VisitorOptions): Promise<void> {
    this.#visitor = await newVisitor(browser, { baseURL: origin, ...options })
    const { context } = this.#visitor
    // Nothing here waits for a process.
    context.setDefaultTimeout(20_000)
    await context.addInitScript({ content: pageScript })
    await context.route(`${origin}/**`, (route) => this.#respond(route))
  }

  /** Opens a view anew, such as `posts/g1/12`. A path in `responses` is one below `/api`, such as `/picks`. */
  async show(address: string, responses: Responses = {}, options: ShowOptions = {}): Promise<void> {
    const { at = fixtureTime, isRead = true } = options
    this.#responses = responses
    await this.page.clock.setFixedTime(at)
    await this.page.goto('about:blank')
    await this.page.goto(`/#/${address}`)
    if (isRead) await this.read()
  }

  /** From now on. */
  respond(responses: Responses): void {
    this.#responses = { ...this.#responses, ...responses }
  }

  /** Resolves when the page has read what it wants, and has drawn it. */
  read(): Promise<void> {
    return this.page.evaluate('lane.read()')
  }

  /** The service reports an event. */
  async send(name: string, data: object = {}): Promise<void> {
    await this.page.evaluate(`lane.send(${JSON.stringify(name)}, ${JSON.stringify(JSON.stringify(data))})`)
    await this.read()
  }

  /** The stream of events ends. */
  async loseConnection(): Promise<void> {
    await this.page.evaluate('lane.lose()')
  }

  region(name: string | RegExp): Locator {
    return this.page.getByRole('region', { name, exact: true })
  }

  table(name: string | RegExp): Locator {
    return this.page.getByRole('table', { name, exact: true })
  }

  /** Its rows, each by column title. */
  rowsOf(name: string | RegExp): Promise<Record<string, string>[]> {
    return inPage(this.table(name), 'rows')
  }

  /** A tile: its figure with unit, and its facts. */
  tileOf(name: string): Promise<Record<string, string>> {
    return inPage(this.region(name), 'tile')
  }

  async #respond(route: Route): Promise<void> {
    const { pathname, searchParams } = new URL(route.request().url())
    if (!pathname.startsWith('/api/')) {
      const name = pathname === '/' ? '/index.html' : pathname
      const body = readFileSync(join(projectDir, 'dist/page', name))
      await route.fulfill({ body, contentType: contentTypes[extname(name)] ?? 'text/plain' })
      return
    }
    const path = pathname.slice('/api'.length)
    const given = this.#responses[path]
    const answer = given instanceof Function ? await (given as Answer)(searchParams) : given
    const response = answer ?? fixtureOf(path, searchParams)
    await route.fulfill(replyOf(response)).catch((error: unknown) => {
      // The page has been left meanwhile.
      if (!/closed|handled/.test(String(error))) throw error
    })
  }
}

function replyOf(response: unknown): Parameters<Route['fulfill']>[0] {
  if (Buffer.isBuffer(response)) return { body: response, contentType: 'image/jpeg' }
  const failure = response === undefined ? new Failure(404, 'there is no fixture of this path') : response
  if (!(failure instanceof Failure)) return { json: failure }
  const { status, message } = failure
  return { status, json: { error: { code: 'failure', message } } }
}

/** The page of this file. Whatever its console reports fails the test, unless it is expected. */
export function pageLane(options: VisitorOptions = {}): PageLane {
  const lane = new PageLane()
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.connect(inject('chromium'))
    await lane.open(browser, options)
  })
  // A failed response is no problem of the page, which shows it.
  afterEach(() =>
    expect(lane.visitor.problems.splice(0).filter((text) => !/^Failed to load/.test(text))).toEqual([]),
  )
  afterAll(async () => {
    await lane.visitor.context.close()
    await browser.close()
  })
  return lane
}

/** The text of an element as it is seen, with single spaces. */
export async function textOf(locator: Locator): Promise<string> {
  return (await locator.innerText()).replace(/\s+/g, ' ').trim()
}

export async function textsOf(locator: Locator): Promise<string[]> {
  return (await locator.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())
}

/** The facts within an element, by name. */
export function factsOf(locator: Locator): Promise<Record<string, string>> {
  return inPage(locator, 'facts')
}

/** The badges within an element with their tones, such as `warn 61 s overdue`. */
export function badgesOf(locator: Locator): Promise<string[]> {
  return inPage(locator, 'badges')
}

/** An attribute of each element, in order. */
export async function attributesOf(locator: Locator, name: string): Promise<string[]> {
  const found = await locator.all()
  return Promise.all(found.map(async (one) => (await one.getAttribute(name)) ?? ''))
}

/** A property of the style that each element itself has, in order. */
export function stylesOf(locator: Locator, name: string): Promise<string[]> {
  return locator.evaluateAll(
    (elements, of) => elements.map((one) => (one as unknown as Styled).style.getPropertyValue(of)),
    name,
  )
}

interface Styled {
  readonly style: { readonly getPropertyValue: (name: string) => string }
}

type Readers = Readonly<Record<'rows' | 'tile' | 'facts' | 'badges', (element: unknown) => never>>

/** Calls a reader of `pageScript` in the page. */
function inPage<T>(locator: Locator, reader: keyof Readers): Promise<T> {
  return locator.evaluate(
    (element, name) => (globalThis as unknown as { readonly lane: Readers }).lane[name](element),
    reader,
  )
}

const pageScript = `
  // A choice of the reader is kept by a reload alone.
  if (performance.getEntriesByType('navigation')[0]?.type !== 'reload') try { localStorage.clear() } catch {}
  const text = (element) => element?.innerText.replace(/\\s+/g, ' ').trim() ?? ''
  const all = (element, selector) => [...element.querySelectorAll(selector)]
  let reading = 0
  const fetched = fetch
  globalThis.fetch = (...request) => {
    reading++
    return fetched(...request).finally(() => reading--)
  }
  let stream
  globalThis.EventSource = class extends EventTarget {
    constructor() {
      super()
      stream = this
      setTimeout(() => this.onopen?.())
    }
    close() {}
  }
  globalThis.lane = {
    async read() {
      for (let calmFrames = 0; calmFrames < 4; ) {
        await new Promise(requestAnimationFrame)
        calmFrames = reading === 0 && document.querySelector('main h1') ? calmFrames + 1 : 0
      }
    },
    send: (name, data) => stream.dispatchEvent(new MessageEvent(name, { data })),
    lose: () => stream.onerror(),
    facts: (element) =>
      Object.fromEntries(all(element, 'dl > div').map((one) => [text(one.querySelector('dt')), text(one.querySelector('dd'))])),
    tile: (tile) => ({ figure: text(tile.querySelector('.figure')), ...lane.facts(tile) }),
    badges: (element) => all(element, '.badge').map((one) => one.classList[1] + ' ' + text(one)),
    rows(table) {
      const titles = all(table, 'thead th, [role=columnheader]').map((head) => head.firstChild.data.trim())
      return all(table, 'tbody tr, .rows-body > .row').map((row) =>
        Object.fromEntries([...row.children].map((cell, i) => [titles[i], text(cell)])))
    },
  }
`
