/** Post: what is found, and of one post each figure and time is that of its label. All values of the fixtures differ. */
import { describe, expect, test } from 'vitest'
import type { Explanation, PostDetails } from '../../src/contract/index.js'
import { browserMissing } from '../helpers/browser.js'
import { leftFixture, picksFixture, pointFixture, postFixture } from '../helpers/page-fixtures.js'
import {
  attributesOf,
  badgesOf,
  Failure,
  pageLane,
  stylesOf,
  textOf,
  textsOf,
  type Responses,
} from '../helpers/page-lane.js'
import { explanationFixture } from '../helpers/report-fixtures.js'

const path = '/posts/%EA%B0%A4/77'
const notFound = new Failure(404, 'this post is not pending')
const tooBusy = new Failure(503, 'too busy')

describe.skipIf(browserMissing)('Post', () => {
  const lane = pageLane()

  const show = (post: object, history: object = explanationFixture, more: Responses = {}): Promise<void> =>
    lane.show(path.slice(1), { [path]: post, [`${path}/history`]: history, ...more })
  const head = () => lane.page.locator('.post-head')
  const figure = (title: string) =>
    lane.page
      .getByRole('figure')
      .filter({ has: lane.page.getByRole('heading', { name: title, exact: true }) })

  describe('that is pending', () => {
    const pending = (change: Partial<PostDetails> = {}): Promise<void> => show({ ...postFixture, ...change })

    test('has its title, its key and its figures', async () => {
      await pending()
      expect(await textOf(head())).toBe('← Picks Find a post 대기 중 갤 · 77')
      expect(await textsOf(head().locator('bdi[lang=ko]'))).toEqual(['대기 중', '갤'])
      expect(await lane.tileOf('Score')).toEqual({
        figure: '0.654 rank 9 of 210',
        'Predicted views': '0.110',
        'Predicted comments': '0.220',
        'Predicted recommendations': '0.330',
        'Predicted down-vote share': '0.044',
      })
      expect(await lane.tileOf('Counters')).toEqual({
        figure: '54,321 views',
        Up: '61 (+6.1/h)',
        Down: '62 (−6.2/h)',
        Comments: '63',
        'Send-to-Best': '64 (+6.4/h)',
        Read: '2026-03-02 12:07',
      })
      expect(await lane.tileOf('Origin')).toEqual({
        figure: '2 h 15 min old',
        Written: '2026-03-02 10:01',
        Extracted: '2026-03-02 10:11',
        Source: 'keyword',
        Images: '2 of 5',
      })
    })

    test('without a score says why', async () => {
      await pending({ score: null, status: 'not_scored', reason: 'missing_title' })
      expect(await lane.tileOf('Score')).toMatchObject({ figure: '– rank 9 of 210', Status: 'missing title' })
    })

    test('has a timeline whose newest values are those of the newest cycle, whatever the order', async () => {
      await pending({ timeline: [...postFixture.timeline].reverse() })
      const legend = (title: string) => textsOf(figure(title).getByRole('listitem'))
      expect(await Promise.all(['Score', 'Rank', 'Views', 'Counters'].map(legend))).toEqual([
        ...[['Score 0.720'], ['Rank 9'], ['views 7,200']],
        ['recommendations 721', 'comments 722', 'down-votes 723'],
      ])
    })

    test('has its images by position', async () => {
      await pending()
      const images = lane.region('Images').locator('img')
      expect(await attributesOf(images, 'src')).toEqual([
        `/api${path}/images/1?sha256=1111111111111111`,
        `/api${path}/images/4?sha256=4444444444444444`,
      ])
      expect(await attributesOf(images, 'alt')).toEqual(['Image 1', 'Image 4'])
      await expect
        .poll(() => images.first().evaluate((one) => (one as unknown as Image).naturalWidth))
        .toBeGreaterThan(0)
    })

    test('has its text as text, and as it was received', async () => {
      const body_html = '<p>본문</p><p>둘째 줄 &amp; 끝</p><script>x</script>'
      await pending({ candidate: { ...postFixture.candidate, body_html } })
      const text = lane.page.locator('.post-text')
      expect(await text.innerText()).toBe('본문\n\n둘째 줄 & 끝')
      await lane.region('Text').getByRole('button', { name: 'As received' }).click()
      expect(await text.innerText()).toBe(body_html)
    })

    test('that no stored cycle has yet lacks nothing; a history that cannot be read has its reason', async () => {
      await show(postFixture, notFound)
      expect(await lane.page.getByText(notFound.message).count()).toBe(0)
      await show(postFixture, tooBusy)
      expect(await textOf(lane.page.locator('main .notice'))).toBe('No visits: too busy')
      lane.respond({ [`${path}/history`]: explanationFixture })
      await lane.table(/^Score and rank by cycle/).waitFor()
    })

    test('follows the cycles with its history, even after a failure', async () => {
      await pending()
      const [first, ...others] = explanationFixture.cycles
      lane.respond({ [`${path}/history`]: tooBusy })
      await lane.send('cycle', pointFixture(1))
      await lane.page
        .getByRole('status')
        .filter({ hasText: /\(visits\), because too busy/ })
        .waitFor()
      expect(await lane.rowsOf(/^Score and rank by cycle/)).toHaveLength(3)
      const cycles = [first!, ...others, { ...first!, cycle_id: '20260302T1030' }]
      lane.respond({ [`${path}/history`]: { ...explanationFixture, cycles } })
      await lane
        .table(/^Score and rank by cycle/)
        .getByText('03-02 10:30')
        .waitFor()
    })
  })

  describe('that has left', () => {
    const left = (change: Partial<Explanation> = {}): Promise<void> =>
      show(notFound, { ...explanationFixture, ...change })

    test('is marked, and has the figures of its last visit', async () => {
      await left()
      expect(await badgesOf(head())).toEqual(['plain not pending'])
      expect(await lane.tileOf('Outcome')).toEqual({
        figure: 'saved night',
        Decided: '2026-03-02 11:21',
        Reported: '2026-03-02 11:30',
      })
      expect(await lane.tileOf('Last score')).toEqual({
        figure: '0.543 rank 44 of 403',
        'Scored in': '2 cycles',
      })
      expect(await lane.tileOf('Last counters')).toEqual({
        figure: '12,345 views',
        Up: '21',
        Down: '22',
        Comments: '23',
        'Send-to-Best': '24',
        Read: '2026-03-02 11:02',
      })
      expect(await lane.tileOf('Origin')).toEqual({
        figure: 'vote',
        Written: '2026-03-02 10:01',
        Extracted: '2026-03-02 10:11',
        Pending: '1 h 10 min',
        Images: '1 of 6',
      })
    })

    test('whose record has expired says so; one that never was has no figures', async () => {
      await left({ candidate: null })
      expect(await textOf(lane.page.locator('main .notice'))).toMatch(/^Title and text of this post expired/)
      await show(notFound, new Failure(404, 'no stored cycle has this post'))
      expect(await textOf(lane.page.locator('main .notice'))).toBe('No visits: no stored cycle has this post')
      expect(await lane.page.locator('.tile').count()).toBe(0)
    })
  })

  test('the visits have their cycles, outcomes and times', async () => {
    await show(postFixture)
    expect(await lane.rowsOf(/^Stays of the post/)).toEqual([
      {
        Visit: '1',
        'Entered with': 'an expired cycle',
        'Left with': '03-01 10:05',
        Outcome: 'aged out',
        Tier: '–',
        Decided: '2026-03-01 10:01',
      },
      {
        Visit: '2 (shown below)',
        'Entered with': '03-02 10:15',
        'Left with': '03-02 11:30',
        Outcome: 'saved',
        Tier: 'night',
        Decided: '2026-03-02 11:21',
      },
    ])
    expect(await badgesOf(lane.region('Visits'))).toEqual(['plain aged out', 'ok saved'])
  })

  test('the visits have the score and the rank of each cycle, newest first, of many the newest 48', async () => {
    await show(postFixture)
    const row = (cycle: string, status: string, score: string, rank: string, of: number) => ({
      Cycle: cycle,
      Status: status,
      Score: score,
      Rank: `${rank} of ${of}`,
      Model: `m-${of}`,
      Weights: `w-${of}`,
    })
    expect(await lane.rowsOf(/^Score and rank by cycle/)).toEqual([
      row('03-02 10:25', 'scored', '0.5432', '44', 403),
      row('03-02 10:20', 'scored', '0.4321', '33', 402),
      row('03-02 10:15', 'missing clock', '–', '–', 401),
    ])
    const [first] = explanationFixture.cycles
    const labels = Array.from({ length: 50 }, (_, index) => [
      String(10 + Math.floor(index / 12)),
      String((index % 12) * 5).padStart(2, '0'),
    ])
    const cycles = labels.map(([hour, minute]) => ({ ...first!, cycle_id: `20260302T${hour}${minute}` }))
    await show(postFixture, { ...explanationFixture, cycles })
    const shown = (await lane.rowsOf(/^Score and rank by cycle/)).map(({ Cycle }) => Cycle)
    expect(shown).toEqual(
      labels
        .slice(2)
        .reverse()
        .map(([hour, minute]) => `03-02 ${hour}:${minute}`),
    )
  })

  describe('the explanation', () => {
    type Explained = NonNullable<Explanation['explained']>
    const panel = async (change: Partial<Explained> = {}) => {
      const explained = { ...explanationFixture.explained!, ...change }
      await show(postFixture, { ...explanationFixture, explained })
      return lane.region('Why this score')
    }

    test('names its cycle, score and weights, or why it cannot be computed', async () => {
      expect(await textOf(await panel())).toContain(
        'Cycle 03-02 10:25, score 0.5432. Weights: views 1.5, comments 0.25, recommendations 0.75, down-vote share 0.1.',
      )
      expect(await textOf(await panel({ problem: 'the request has expired' }))).toContain(
        'The effects of the inputs cannot be computed: the request has expired',
      )
    })

    test('has for each input the effect of its value against the median, or against none', async () => {
      await panel()
      const row = (input: string, ...cells: readonly [string, string, string, string, string]) => ({
        Input: input,
        Value: cells[0],
        Median: cells[1],
        Percentile: cells[2],
        Effect: cells[3],
        'Over missing': cells[4],
      })
      expect(await lane.rowsOf(/^Inputs of the model/)).toEqual([
        row('views', '12.3K', '1,409', '87%', '+0.0812', '+0.1234'),
        row('age', '12 h', '5 h', '12%', '−0.0345', '–'),
        row('text, as the model reads it', 'present', '–', '–', '+0.0456', '+0.0456'),
        row('admin snapshot: recommendations over the baseline', 'missing', '3.5', '–', '−0.0567', '–'),
      ])
    })

    test('draws what raises the score to the right, what lowers it to the left, and the largest as half of the bar', async () => {
      const bars = async (change: Partial<Explained> = {}): Promise<number[][]> => {
        const drawn = (await panel(change)).locator('.effect-bar > span')
        const [widths, lefts] = [await stylesOf(drawn, 'width'), await stylesOf(drawn, 'left')]
        return widths.map((width, i) => [parseFloat(width), parseFloat(lefts[i] ?? '')].map(Math.round))
      }
      expect(await bars()).toEqual([
        [50, 50],
        [21, 29],
        [28, 50],
        [35, 15],
      ])
      const [raises, lowers] = explanationFixture.explained!.inputs
      const inputs = [
        { ...lowers!, over_median: -0.4 },
        { ...raises!, over_median: 0.1 },
      ]
      expect(await bars({ inputs })).toEqual([
        [50, 0],
        [13, 50],
      ])
    })
  })

  describe('before one is chosen', () => {
    const picks = picksFixture.picks.map((pick) => ({ ...pick, extracted_at: '2026-03-02T03:57:10Z' }))
    const search = (responses: Responses = {}): Promise<void> =>
      lane.show('posts', { '/picks': { ...picksFixture, picks }, ...responses })

    test('the newest pending posts and those that left last are listed, with their titles', async () => {
      await search()
      expect(await lane.rowsOf('Newest pending posts')).toEqual([
        { Post: '첫째 g1 · 31', Extracted: '3 min ago', Rank: '5', Score: '0.812' },
        { Post: 'without a title g2 · 32', Extracted: '3 min ago', Rank: '–', Score: 'missing clock' },
      ])
      expect(await lane.rowsOf('Posts that left last')).toEqual([
        { Post: '나간 글 g3 · 61', Outcome: 'savedmain', 'Left with': '03-02 12:50' },
      ])
      const left = lane.region('Posts that left last')
      expect(await badgesOf(left)).toEqual(['ok saved', 'accent main'])
      expect(await attributesOf(left.getByRole('link'), 'href')).toEqual(['#/posts/g3/61'])
    })

    test('what matches a search is listed, and a key leads to its post, whatever characters it has', async () => {
      const asked: string[] = []
      const answer = (query: URLSearchParams) => {
        asked.push(query.get('q') ?? '')
        return leftFixture
      }
      await search({ '/left': answer })
      // Half of a surrogate pair would not survive the way of `fill`.
      await lane.page.evaluate(String.raw`
        const input = document.querySelector('input[type=search]')
        input.value = ' g\ud83d/61 '
        input.dispatchEvent(new Event('input', { bubbles: true }))
      `)
      const direct = lane.page.getByRole('link', { name: /^Open g.* 61,/ })
      await direct.waitFor()
      expect(await direct.getAttribute('href')).toBe('#/posts/g%EF%BF%BD/61')
      await lane.region('Posts that have left: 1').waitFor()
      expect(asked).toEqual(['', 'g\ufffd/61'])
    })

    test('says how many posts were searched if none has left, and that none is pending', async () => {
      await search({
        '/left': { posts: [], matching: 0, searched: 400 },
        '/picks': { ...picksFixture, picks: [] },
      })
      expect(await textsOf(lane.page.locator('main .empty'))).toEqual([
        'No pending post matches.',
        'None of the last 400 posts that left matches.',
      ])
    })
  })
})

interface Image {
  readonly naturalWidth: number
}
