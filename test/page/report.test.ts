/** Report: each figure and interval is that of its label, on the page and in the document. All values of the fixture differ. */
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Locator } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../src/contract/index.js'
import { browserMissing } from '../helpers/browser.js'
import { attributesOf, badgesOf, factsOf, pageLane, textOf, textsOf } from '../helpers/page-lane.js'
import { projectDir } from '../helpers/project.js'
import { reportFixture } from '../helpers/report-fixtures.js'

type ReportDocument = (report: Report, language: 'en' | 'ko') => string

describe.skipIf(browserMissing)('Report', () => {
  const lane = pageLane()

  const show = (change: Partial<Report> = {}): Promise<void> =>
    lane.show('report', { '/report': { ...reportFixture, ...change } })
  const main = () => textOf(lane.page.locator('main'))

  test('the window has its cycles, its days, and its ends in Korean time; each tile has its figures', async () => {
    await show()
    expect(await textOf(lane.page.locator('.list-note'))).toBe(
      '575 cycles on 2 days, 2026-03-02 00:05 to 2026-03-03 23:55 KST',
    )
    expect(await lane.tileOf('What the operators did')).toEqual({
      figure: '301 saved of 9,001',
      Hidden: '302',
      Deleted: '303',
      'Aged out': '304',
      'Still pending': '305',
    })
    expect(await lane.tileOf('With the same budget: model (m-1)')).toEqual({
      figure: '83% of the saved posts found',
      Picks: '102',
      Saved: '103',
      'Hidden or deleted': '209',
      'Aged out': '106',
      'Earlier (median)': '11 min',
    })
    expect(await textOf(lane.region('In force'))).toBe(
      'In force 3 pairs of model / weights model-1 / weights-1 model-2 / weights-2 model-3 / weights-3',
    )
  })

  test('each order has the mean and the interval of each figure', async () => {
    await show()
    const row = (order: string, tens: number, earlier: string): Record<string, string> => ({
      Order: order,
      'Ranked below a saved post': `${tens}1.1% ${tens}0.0 to ${tens}3.0`,
      'Saved posts found': `${tens}3.1% ${tens}2.0 to ${tens}5.0`,
      'Decided picks saved': `${tens}2.1% ${tens}1.0 to ${tens}4.0`,
      'Hidden or deleted': `${tens}4.1% ${tens}3.0 to ${tens}6.0`,
      Earlier: earlier,
    })
    expect(await lane.rowsOf(/^Means with 95 % intervals/)).toEqual([
      row('model (m-1)', 8, '11 min'),
      row('v-2', 7, '21 min'),
      row('by recommendations per view', 6, '31 min'),
    ])
  })

  test('the model and each version have a verdict against each order: difference, posts, and the days that it needs', async () => {
    await show()
    const row = (...cells: readonly [string, string, string, string, string, string]) => ({
      Order: cells[0],
      Against: cells[1],
      Difference: cells[2],
      Verdict: cells[3],
      Posts: cells[4],
      'More days needed': cells[5],
    })
    const model = 'model (m-1)'
    expect(await lane.rowsOf(/^Differences/)).toEqual([
      row(model, 'v-2', '+5.0 pp +3.9 to +6.2', 'better', '1,050', '–'),
      row(model, 'by views', '−4.0 pp −5.1 to −2.8', 'worse', '960', '–'),
      row(model, 'newest first', '+0.3 pp −0.8 to +1.5', 'cannot be told apart', '1,003', '17'),
      row(model, 'by recommendations', '–', 'nothing in common', '0', '–'),
      row('v-2', 'by views', '−9.0 pp −10.1 to −7.8', 'worse', '910', '–'),
    ])
    expect(await badgesOf(lane.region('Comparison'))).toEqual([
      ...['ok better', 'fail worse', 'plain cannot be told apart', 'plain nothing in common', 'fail worse'],
    ])
  })

  test('more than a year of days is not a number', async () => {
    const [difference] = reportFixture.differences
    const differences = [68_889, 366, 365, null].map((more_days) => ({
      ...difference!,
      verdict: 'cannot be told apart' as const,
      more_days,
    }))
    await show({ differences })
    expect((await lane.rowsOf(/^Differences/)).map((row) => row['More days needed'])).toEqual([
      ...['more than a year', 'more than a year', '365', '–'],
    ])
  })

  test('without a save there is nothing to compare, and the rest is shown', async () => {
    await show({
      visits: { ...reportFixture.visits, saved: 0 },
      rankers: reportFixture.rankers.map((one) => ({
        ...one,
        rank_percentile: { mean: null, n: 0, ci95: null },
      })),
    })
    expect(await main()).toContain('the model has ranked no post that the operators saved.')
    expect(await lane.region('Comparison').count()).toBe(0)
    expect(await lane.region('First scores').getByRole('table').count()).toBe(1)
  })

  test('each group has its figures; kinds without visits are left out, and all but the first are closed', async () => {
    await show()
    expect(await lane.rowsOf('Figures of the model by Gallery')).toEqual([
      {
        Gallery: 'g1',
        'Ranked below a saved post': '61.1% 60.1 to 63.1',
        'Saved posts found': '64%',
        'Decided picks saved': '63%',
        Saved: '602',
        Picked: '603',
        'Picked and saved': '604',
        Posts: '601',
      },
      {
        Gallery: 'unknown',
        'Ranked below a saved post': '–',
        'Saved posts found': '74%',
        'Decided picks saved': '–',
        Saved: '702',
        Picked: '703',
        'Picked and saved': '704',
        Posts: '701',
      },
    ])
    const groups = lane.region('By group')
    expect(await textsOf(groups.locator('summary'))).toEqual([
      'Gallery',
      'Tier',
      'Hour of the decision (KST)',
    ])
    expect(await groups.getByRole('table').count()).toBe(1)
    await groups.getByText('Hour of the decision (KST)').click()
    await lane.table('Figures of the model by Hour of the decision (KST)').waitFor()
  })

  test('each order has its metrics by depth', async () => {
    await show()
    const row = (order: string, digit: number, hundreds: number, minutes: number) => ({
      Order: order,
      Cycles: String(hundreds + 8),
      'Top 10': `${digit}1%`,
      'Top 50': `${digit}2%`,
      'Top 100': `${digit}3%`,
      'NDCG 10': `0.${digit}04`,
      'NDCG 50': `0.${digit}05`,
      'AUC first': `0.${digit}06`,
      'AUC last': `0.${digit}07`,
      'AP last': `0.${digit}08`,
      'Earlier p10': `${minutes + 2} min`,
      p90: `${minutes + 3} min`,
    })
    expect(await lane.rowsOf(/NDCG/)).toEqual([
      row('model (m-1)', 8, 100, 10),
      row('v-2', 7, 200, 20),
      row('by recommendations per view', 6, 300, 30),
    ])
  })

  test('placements have the medians of each picker by age, and the correlations', async () => {
    await show()
    const counters = (...[views, up, down, comments]: readonly string[]) => ({
      views,
      recommendations: up,
      'down-votes': down,
      comments,
    })
    expect(await lane.rowsOf(/^700 placements/)).toEqual([
      {
        'Picked by': 'model m-1',
        Placements: '701',
        Hidden: '7.1%',
        Deleted: '7.2%',
        Age: '6 h',
        Readings: '702',
        ...counters('703', '704', '705', '706'),
      },
      {
        'Picked by': 'operator',
        Placements: '711',
        Hidden: '7.4%',
        Deleted: '7.3%',
        Age: '24 h',
        Readings: '712',
        ...counters('713', '–', '715', '716'),
      },
    ])
    expect(await lane.rowsOf(/^Spearman/)).toEqual([
      { Age: '48 h', Placements: '721', ...counters('0.11', '−0.12', '0.13', '0.14') },
    ])
    await show({ outcomes: { placements: 0, by_picker: [], score_correlation: [] } })
    expect(await main()).not.toContain('Placements')
  })

  test('first scores have their counts, their reasons, and the latest ones with their times', async () => {
    await show()
    expect(await factsOf(lane.region('First scores'))).toEqual({
      'Share on time': '98.0%',
      Target: '99%',
      'On time': '8,001',
      Late: '81',
      Never: '82',
      'Not counted': '83',
      'Missing title': '91',
      'No cycle': '92',
    })
    expect(await lane.rowsOf('The posts whose first score came latest')).toEqual([
      {
        Post: 'g1 · 11',
        Result: 'late',
        Reason: 'missing title',
        Extracted: '2026-03-02 01:00',
        Deadline: '2026-03-02 01:09',
        'First score': '2026-03-02 01:30',
        'Late by': '21 min',
      },
      {
        Post: 'g2 · 12',
        Result: 'never',
        Reason: 'no cycle',
        Extracted: '2026-03-02 02:00',
        Deadline: '2026-03-02 02:10',
        'First score': '–',
        'Late by': '2 h 30 min',
      },
    ])
    expect(await badgesOf(lane.region('First scores'))).toEqual(['warn late', 'fail never'])
    await show({ first_score: { ...reportFixture.first_score, worst: [] } })
    expect(await textOf(lane.region('First scores'))).toMatch(/Every post had its first score on time\.$/)
  })

  test('a store without cycles has no figures', async () => {
    await show({ window: { ...reportFixture.window, cycles: 0 } })
    expect(await textOf(lane.page.locator('.empty'))).toMatch(
      /^No cycle is stored yet\. The report compares .* have saved posts\.$/,
    )
  })

  describe('the line of a figure', () => {
    /** x positions of the ends of the figure's line, its point and its reference. */
    const drawn = async (figures: Locator): Promise<number[][]> => {
      const numbers = async (selector: string, name: string): Promise<number[][]> =>
        (await attributesOf(figures.locator(selector), name)).map((text) =>
          (text.match(/[MH]?[\d.]+/g) ?? [])
            .filter((part) => name !== 'd' || /[MH]/.test(part))
            .map((part) => Math.round(Number(part.replace(/[MH]/, '')))),
        )
      const [whiskers, points] = [await numbers('.whisker', 'd'), await numbers('circle', 'cx')]
      const references = await numbers('.reference', 'd')
      return whiskers.map((ends, i) => [...ends, ...points[i]!, ...references[i]!])
    }

    test('goes from the low to the high end, on one scale for all rows, which contains no difference', async () => {
      await show()
      const figures = lane.table(/^Differences/).locator('tbody svg')
      // From -10.1 to +6.2 points, and 5 % more on both sides, on 152 of 160 pixels.
      const x = (points: number): number => Math.round(4 + (152 * (points + 10.1 + 0.815)) / (16.3 + 1.63))
      expect((await drawn(figures)).slice(0, 2)).toEqual([
        [x(3.9), x(6.2), x(5), x(0)],
        [x(-5.1), x(-2.8), x(-4), x(0)],
      ])
    })
  })

  test('while the service reads its cycles, the page says how many and for how long; of none it does not', async () => {
    const never = new Promise<never>(() => undefined)
    const stored = (oldest: number, newest: number) => ({
      instance: 'i',
      items: [],
      is_last: true,
      oldest,
      newest,
    })
    const reading = (oldest: number, newest: number): Promise<void> =>
      lane.show('report', { '/report': () => never, '/cycles': stored(oldest, newest) }, { isRead: false })
    await reading(11, 298)
    await lane.page.getByText('The service reads 288 cycles, for 0 s so far.').waitFor()
    await reading(1, 0)
    await lane.page.getByText(/^No cycle is stored yet\./).waitFor()
  })

  describe('as a document', () => {
    const load = async (): Promise<ReportDocument> => {
      const file = join(projectDir, 'dist/page/report-document.js')
      return ((await import(file)) as { readonly reportDocument: ReportDocument }).reportDocument
    }
    const open = async (html: string): Promise<void> => {
      await lane.page.goto('about:blank')
      await lane.page.setContent(html)
    }

    test('it has the figures of the page, every kind of group, and a title', async () => {
      const captions = [/^Means with/, /^Differences/, /^700 placements/]
      await show()
      const onPage = await Promise.all(captions.map((caption) => lane.rowsOf(caption)))
      const html = (await load())(reportFixture, 'en')
      expect(html).toMatch(/^<!doctype html>\n<html lang="en">.*<\/html>\n$/s)
      await open(html)
      expect(await lane.page.title()).toBe('Rehearsal 2026-03-02 00:05 to 2026-03-03 23:55 KST')
      expect(await Promise.all(captions.map((caption) => lane.rowsOf(caption)))).toEqual(onPage)
      expect(await lane.rowsOf('Figures of the model by Hour of the decision (KST)')).toMatchObject([
        { Posts: '901', Picked: '903' },
      ])
      expect(await lane.region('By group').getByRole('table').count()).toBe(3)
    })

    test('a reader saves it from the page: the same as that of the command', async () => {
      // Five minutes after midnight in Korea.
      await show({ window: { ...reportFixture.window, to: '2026-03-03T15:05:00Z' } })
      const download = lane.page.waitForEvent('download')
      await lane.page.getByRole('button', { name: 'Save as a file' }).click()
      const saved = await download
      expect(saved.suggestedFilename()).toBe('report-2026-03-04.html')
      const text = await new Response(Readable.toWeb(await saved.createReadStream())).text()
      const captions = [/^Means with/, /^Differences/, /^700 placements/]
      const onPage = await Promise.all(captions.map((caption) => lane.rowsOf(caption)))
      await open(text)
      expect(await lane.page.title()).toBe('Rehearsal 2026-03-02 00:05 to 2026-03-04 00:05 KST')
      expect(await Promise.all(captions.map((caption) => lane.rowsOf(caption)))).toEqual(onPage)
      const background = 'getComputedStyle(document.querySelector(".panel")).borderTopStyle'
      expect(await lane.page.evaluate(background)).toBe('solid')
    })

    test('printing the view prints neither header, navigation nor buttons', async () => {
      await show()
      await lane.page.emulateMedia({ media: 'print' })
      const visible = lane.page.locator('header.top, nav, main button').filter({ visible: true })
      expect(await visible.count()).toBe(0)
      expect(await lane.table(/^Means/).isVisible()).toBe(true)
      await lane.page.emulateMedia({ media: null })
    })

    test('it has every language, opens in the chosen one, and a reader switches without a script', async () => {
      const html = (await load())(reportFixture, 'ko')
      expect(html).toMatch(/^<!doctype html>\n<html lang="ko">/)
      await open(html)
      expect(await lane.page.title()).toBe('예행 운영 2026. 3. 2. 00:05 ~ 2026. 3. 3. 23:55')
      expect(await lane.rowsOf(/^평균과 95% 구간/)).toHaveLength(reportFixture.rankers.length)
      expect(await lane.table(/^Means with/).count()).toBe(0)
      await lane.page.getByText('English', { exact: true }).click()
      expect(await lane.rowsOf(/^Means with/)).toHaveLength(reportFixture.rankers.length)
      expect(await lane.table(/^평균과/).count()).toBe(0)
    })

    test('it has no script, no link, and no text that is HTML', async () => {
      const [late] = reportFixture.first_score.worst
      const worst = [{ ...late!, gall_id: '<script>x</script>' }]
      const first_score = { ...reportFixture.first_score, worst }
      const html = (await load())({ ...reportFixture, first_score }, 'en')
      expect(html).toContain('&lt;script>x')
      expect(html).not.toMatch(/<script|<link|<a /)
    })
  })
})
