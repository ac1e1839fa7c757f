/**
 * What holds of every view, in both languages: it fits three widths in both colours, axe-core finds nothing, what cannot be read
 * has its reason, and whatever others have written is text. Leaves screenshots in test/screenshots.
 */
import { describe, expect, test } from 'vitest'
import {
  browserMissing,
  misplacedIntervals,
  namelessControls,
  overflows,
  settled,
  takeScreenshots,
  violations,
  widths,
} from '../helpers/browser.js'
import { fixtureOf } from '../helpers/page-api.js'
import { callFixture, nowFixture } from '../helpers/page-fixtures.js'
import { Failure, pageLane, type Responses } from '../helpers/page-lane.js'
import { reportFixture } from '../helpers/report-fixtures.js'

const views = ['now', 'picks', 'posts', 'posts/g1/31', 'report', 'models', 'cycles']
const paths = [
  ...[
    '/now',
    '/series',
    '/picks',
    '/left',
    '/posts/g1/31',
    '/posts/g1/31/history',
    '/report',
    '/models',
    '/cycles',
  ],
]
/** Whatever interprets it leaves an element that the page itself never has, or changes the title. */
const hostile = `"><img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202e{{7*7}}`
const intruders = '#page :is(script, iframe, object, embed, [onerror], img[src="x"])'

/** A copy in which every text that others write is hostile. */
function hostileCopy(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, member: unknown) =>
    typeof member === 'string' && free.test(name) ? hostile : member,
  )
}

/** Members of the responses that others write: clients, authors of posts and of models. */
const free =
  /^(title|body_html|gall_id|tier|problem|model_version|weights_version|version|note|changed|path|detail|name|trained_on|failed|serving|previous|shadows|modelVersion|weightsVersion)$/

describe.each(['en-US', 'ko-KR'])('in the language of a browser for %s', (locale) => {
  describe.skipIf(browserMissing)('each view', () => {
    const lane = pageLane({ locale })

    test.each(views)(
      '%s fits three widths in both colours, has names, and axe-core finds nothing',
      async (view) => {
        await lane.show(view)
        expect(await namelessControls(lane.page)).toEqual([])
        for (const width of widths)
          for (const colorScheme of ['dark', 'light'] as const) {
            await lane.page.emulateMedia({ colorScheme })
            await lane.page.setViewportSize({ width, height: 900 })
            await settled(lane.page)
            expect(await overflows(lane.page), `${width}`).toEqual([])
            expect(await misplacedIntervals(lane.page), `${width}`).toEqual([])
            // Contrast depends on the colours, and what is there on the width.
            if (width !== 1024) expect(await violations(lane.page), `${width} ${colorScheme}`).toEqual([])
          }
        await takeScreenshots(lane.page, `${locale.slice(0, 2)}-${view.replaceAll('/', '-')}`)
      },
    )

    test.each(views)('%s shows why it has no data, as text', async (view) => {
      const failure = new Failure(500, `disk ${hostile}`)
      await lane.show(view, Object.fromEntries(paths.map((path) => [path, failure])))
      await lane.page.locator('main').getByText(`disk ${hostile}`).first().waitFor()
      expect(await lane.page.locator(intruders).count()).toBe(0)
      expect(await violations(lane.page)).toEqual([])
    })

    test('a call and a stored cycle fit beside their lists', async () => {
      for (const index of [0, 2]) {
        await lane.show('cycles')
        await lane.page.locator('.tools[role=group] button').nth(index).click()
        await lane.page.locator('.rows-body .row-link').first().click()
        await lane.page.locator('.details .warnings li').first().waitFor()
        for (const width of widths) {
          await lane.page.setViewportSize({ width, height: 600 })
          await settled(lane.page)
          expect(await overflows(lane.page), `${index} at ${width} px`).toEqual([])
        }
      }
      await lane.page.setViewportSize({ width: 1440, height: 900 })
    })
  })
})

describe.skipIf(browserMissing)('each view', () => {
  const lane = pageLane()
  const empty: Responses = {
    '/now': {
      ...nowFixture,
      last_cycle: null,
      last_cycle_id: null,
      last_cycle_received_at: null,
      next_cycle: null,
      failed_versions: [],
      first_cycle_command: 'understudy simulate --url http://127.0.0.1:9090 --data-dir /srv/data --hours 1',
    },
    '/series': { points: [] },
    '/picks': {
      ...(fixtureOf('/picks', new URLSearchParams()) as object),
      matching: 0,
      pending: 0,
      picks: [],
      saves: [],
    },
    '/left': { posts: [], matching: 0, searched: 0 },
    '/report': { ...reportFixture, window: { ...reportFixture.window, cycles: 0 } },
    '/cycles': { instance: 'i', items: [], is_last: true, oldest: 1, newest: 0 },
  }

  test.each([
    ['now', 'No cycle has arrived yet'],
    ['picks', 'No post is pending.'],
    ['posts', /^None of the last 0 posts/],
    ['report', /^No cycle is stored yet\./],
    ['cycles', 'No call since the service started.'],
  ])('%s shows that there is nothing yet', async (view, text) => {
    await lane.show(view, empty)
    await lane.page.locator('main').getByText(text).first().waitFor()
    for (const width of widths) {
      await lane.page.setViewportSize({ width, height: 900 })
      await settled(lane.page)
      expect(await violations(lane.page), `${width}`).toEqual([])
      expect(await overflows(lane.page), `${width}`).toEqual([])
    }
    await takeScreenshots(lane.page, `empty-${view}`)
  })

  test.each(views)('%s shows hostile titles, texts, names and problems as text', async (view) => {
    const responses = Object.fromEntries(
      paths
        .filter((path) => path !== '/cycles')
        .map((path) => [path, hostileCopy(fixtureOf(path, new URLSearchParams()))]),
    )
    const items = [hostileCopy({ ...callFixture, cycle_id: null, operation: null })]
    await lane.show(view, {
      ...responses,
      '/cycles': { instance: 'i', is_last: true, items, oldest: 1, newest: 1 },
    })
    if (view === 'cycles') await lane.page.locator('.row-link').first().click()
    await settled(lane.page)
    expect(await lane.page.locator('main').getByText(hostile).count()).toBeGreaterThan(0)
    expect(await lane.page.locator('main bdi').filter({ hasText: hostile }).count()).toBeGreaterThan(0)
    expect(await lane.page.locator(intruders).count()).toBe(0)
    expect(await lane.page.title()).toMatch(/ · Understudy$/)
  })

  test('on a telephone, the names of the rows stay while a table scrolls sideways', async () => {
    await lane.page.setViewportSize({ width: 390, height: 844 })
    await lane.show('report')
    const [scrolled, ...gaps] = await lane.page.evaluate<number[]>(
      `(() => {
        const box = document.querySelector('.wide-scroll[aria-label^="Table: Means"]')
        const leftOf = (element) => Math.round(element.getBoundingClientRect().left)
        box.scrollTo(1000, 0)
        return [box.scrollLeft, ...[...box.querySelectorAll('tr > :first-child')].map((cell) => leftOf(cell) - leftOf(box))]
      })()`,
    )
    expect(scrolled).toBeGreaterThan(100)
    expect(new Set(gaps)).toEqual(new Set([0]))
  })
})
