/** Picks: each column of a post and of a save is that of its label; the rows are those of the reader's filter and place. */
import { describe, expect, test } from 'vitest'
import type { Picks } from '../../src/contract/index.js'
import { browserMissing } from '../helpers/browser.js'
import { picksFixture, pointFixture } from '../helpers/page-fixtures.js'
import { attributesOf, badgesOf, Failure, pageLane, stylesOf, textOf, textsOf } from '../helpers/page-lane.js'

const tooBusy = new Failure(503, 'too busy')
const postCount = 4999
const title = '유니폼 vs 원정 경기 뭐가 나음? ㅋㅋ'

/** A window of thousands of picks; half of them match a search, and a fifth each of five galleries. */
function manyPicks(query: URLSearchParams): Picks {
  const [one] = picksFixture.picks
  const all = Array.from({ length: postCount }, (_, i) => ({
    ...one!,
    post_no: i + 1,
    rank: i + 1,
    gall_id: `g${1 + (i % 5)}`,
    title: `${title} ${i + 1}`,
    images: [],
  }))
  const [search, gallery] = [query.get('q') ?? '', query.get('gallery') ?? '']
  const matching = all.filter(
    (pick) => pick.title.includes(search) && (gallery === '' || pick.gall_id === gallery),
  )
  const offset = Number(query.get('offset'))
  const picks = matching.slice(offset, offset + Number(query.get('limit')))
  const galleries = ['g1', 'g2', 'g3', 'g4', 'g5']
  return { ...picksFixture, pending: postCount, matching: matching.length, offset, galleries, picks }
}

describe.skipIf(browserMissing)('Picks', () => {
  const lane = pageLane()

  const show = (change: Partial<Picks> = {}): Promise<void> =>
    lane.show('picks', { '/picks': { ...picksFixture, ...change } })
  const note = () => textOf(lane.page.locator('.list-note'))
  const list = 'Pending posts by rank'

  test('each pending post has its columns', async () => {
    // Wide enough for every column.
    await lane.page.setViewportSize({ width: 1920, height: 900 })
    await show()
    const shown = await lane.rowsOf(list)
    await lane.page.setViewportSize({ width: 1440, height: 900 })
    expect(shown).toEqual([
      {
        Rank: '5',
        Post: '첫째 g1 · 31',
        Score: '0.812',
        Predictions: '',
        Age: '3 h 42 min',
        Views: '12.3K +1,250/h',
        Up: '41 +4.1/h',
        Down: '42 −4.2/h',
        Comments: '43',
      },
      {
        Rank: '–',
        Post: 'without a title g2 · 32',
        Score: 'missing clock',
        Predictions: '',
        Age: '–',
        Views: '–',
        Up: '–',
        Down: '–',
        Comments: '–',
      },
    ])
    expect(await attributesOf(lane.page.locator('.thumbnail[src]'), 'src')).toEqual([
      '/api/posts/g1/31/images/2?sha256=2222222222222222',
    ])
    expect(await attributesOf(lane.table(list).getByRole('link'), 'href')).toEqual([
      ...['#/posts/g1/31', '#/posts/g2/32'],
    ])
    expect(await textsOf(lane.page.locator('.rows-body bdi[lang=ko]'))).toContain('첫째')
  })

  test('on a telephone, a post has its age, views and comments below its title', async () => {
    await lane.page.setViewportSize({ width: 390, height: 844 })
    await show()
    const [first, second] = await lane.rowsOf(list)
    await lane.page.setViewportSize({ width: 1440, height: 900 })
    expect(Object.values(first ?? {})).toContain('첫째 g1 · 31 3 h 42 min · 12.3K views · 43 comments')
    expect(Object.values(second ?? {})).toContain('without a title g2 · 32 – · – views · – comments')
  })

  test('the legend has the name and the colour of each bar, which no other has', async () => {
    await show()
    const legend = lane.page.getByRole('list', { name: 'Predictions' })
    const colors = await stylesOf(legend.locator('.swatch'), 'background')
    expect(
      await stylesOf(lane.page.locator('.heads').first().locator('[aria-label] > span'), 'background'),
    ).toEqual(colors)
    expect(new Set(colors).size).toBe(4)
    expect(await textsOf(legend.getByRole('listitem'))).toEqual([
      ...['predicted views', 'predicted comments', 'predicted recommendations', 'predicted down-vote share'],
    ])
  })

  test('each head has its value, and a bar of its share', async () => {
    await show()
    const bars = lane.page.locator('.heads').first().locator('[aria-label]')
    expect(await attributesOf(bars, 'aria-label')).toEqual([
      ...['predicted views 0.150', 'predicted comments 0.250'],
      ...['predicted recommendations 0.350', 'predicted down-vote share 0.045'],
    ])
    expect((await stylesOf(bars.locator('span'), 'width')).map(parseFloat)).toEqual([15, 25, 35, 4.5])
  })

  test('the note has the matching and pending posts, and the source of the scores, or why there is no post', async () => {
    const noteOf = async (change: Partial<Picks>): Promise<string> => {
      await show(change)
      return note()
    }
    expect(await noteOf({})).toBe('2 of 4,321 pending, 4,100 scored in 03-02 12:55 by serving-7')
    expect(await noteOf({ matching: 4321 })).toBe('4,321 pending, 4,100 scored in 03-02 12:55 by serving-7')
    expect(await noteOf({ cycle_id: null })).toBe('2 of 4,321 pending, no scores yet')
    const emptyOf = async (change: Partial<Picks>): Promise<string> => {
      await show({ matching: 0, picks: [], ...change })
      return textOf(lane.page.locator('.list .empty').first())
    }
    expect(await emptyOf({})).toBe('No pending post matches.')
    expect(await emptyOf({ pending: 0 })).toBe('No post is pending.')
  })

  test('each save has its cycle, its tier, and the rank and score before it', async () => {
    await show()
    expect(await lane.rowsOf('Posts that operators saved, newest first')).toEqual([
      { Post: '저장된 글 g1 · 51 03-02 12:50', Tier: 'main', Rank: '6 of 901', Score: '0.777' },
      { Post: 'without a title g2 · 52 03-02 12:45', Tier: '–', Rank: '– of 902', Score: '–' },
    ])
    const saves = lane.page.getByRole('complementary', { name: 'Latest saves' })
    expect(await badgesOf(saves)).toEqual(['accent main'])
    expect(await textOf(saves)).toContain('Recorded since 11:00 KST')
  })

  test('of many saves the newest twelve are there for the Tab key, and the others on demand', async () => {
    const saves = Array.from({ length: 50 }, (_, i) => ({ ...picksFixture.saves[0]!, post_no: 100 + i }))
    await show({ saves })
    const aside = lane.page.getByRole('complementary', { name: 'Latest saves' })
    expect(await aside.getByRole('link').count()).toBe(12)
    await aside.getByText('38 earlier ones').click()
    expect(await textsOf(aside.getByRole('link').last())).toEqual(['저장된 글'])
    expect(await aside.getByRole('link').count()).toBe(50)
  })

  test('of thousands of posts only the visible rows exist, each at its place', async () => {
    await lane.show('picks', { '/picks': manyPicks })
    expect(await lane.table(list).getAttribute('aria-rowcount')).toBe(String(postCount + 1))
    for (const index of [0, 49, 50, 149, 150, 2600, postCount - 1]) {
      await scrollTo(index)
      const row = lane.page.locator(`[data-index="${index}"]`)
      await row.getByRole('link').waitFor()
      expect(await textOf(row.locator('.rank'))).toBe((index + 1).toLocaleString('en'))
      const rows = await lane.page.locator('.rows-body > .row').count()
      expect(rows).toBeGreaterThan(10)
      expect(rows).toBeLessThan(40)
    }
  })

  const scrollTo = (index: number) =>
    lane.page.evaluate(`document.querySelector('.scroller').scrollTop = 52 * ${index}`)

  test('rows that cannot be read have the reason, keep their place, and are read later', async () => {
    await lane.show('picks', { '/picks': manyPicks })
    lane.respond({ '/picks': tooBusy })
    await scrollTo(200)
    await lane.page.getByText('No picks: too busy').waitFor()
    expect(await note()).toContain('4,999 pending')
    lane.respond({ '/picks': manyPicks })
    await lane.page.locator('[data-index="205"] a').waitFor()
    await lane.page.getByText('No picks: too busy').waitFor({ state: 'detached' })
  })

  test('a search and a gallery choose the rows, which keep their rank in the whole pool', async () => {
    await lane.show('picks', { '/picks': manyPicks })
    await lane.page.getByRole('searchbox').fill(`${title} 1234`)
    await lane.page.getByText('1 of 4,999').waitFor()
    expect(await textsOf(lane.page.locator('.rows-body a'))).toEqual([`${title} 1234`])
    expect(await textOf(lane.page.locator('.rows-body .rank'))).toBe('1,234')
    await lane.page.getByRole('searchbox').fill('')
    await lane.page.getByRole('combobox', { name: 'Gallery' }).selectOption('g3')
    await lane.page.getByText('1,000 of 4,999').waitFor()
    await lane.page.getByRole('searchbox').fill('nothing has this title')
    await lane.page.getByText('No pending post matches.').waitFor()
    // A way back from a post leads to the same posts.
    await lane.page.keyboard.press('Escape')
    await lane.page.keyboard.press('1')
    await lane.page.getByRole('heading', { name: 'Now' }).waitFor({ state: 'attached' })
    await lane.page.keyboard.press('2')
    expect(await lane.page.getByRole('searchbox').inputValue()).toBe('nothing has this title')
  })

  test('no rows of another filter are those of this one, while it loads and after a failure', async () => {
    let fail = (): void => undefined
    const held = new Promise<void>((resolve) => (fail = resolve))
    let isAway = true
    const picks = async (query: URLSearchParams): Promise<unknown> => {
      if (!query.has('q')) return picksFixture
      await held
      return isAway ? tooBusy : { ...picksFixture, matching: 1, picks: picksFixture.picks.slice(0, 1) }
    }
    await lane.show('picks', { '/picks': picks })
    const post = lane.page.getByRole('link', { name: '첫째' })
    await lane.page.getByRole('searchbox').fill('첫째')
    await lane.page.locator('.list[aria-busy=true]').getByText('Loading picks').waitFor()
    expect(await post.count()).toBe(1)
    fail()
    await lane.page.getByText('No picks: too busy').waitFor()
    expect(await post.count()).toBe(0)
    const galleries = lane.page.getByRole('combobox', { name: 'Gallery' }).locator('option')
    expect(await galleries.allInnerTexts()).toContain('g2')
    isAway = false
    await post.waitFor()
    expect(await lane.page.locator('.list[aria-busy=true]').count()).toBe(0)
  })

  test('rows that cannot be read again stay, as stale', async () => {
    await show()
    lane.respond({ '/picks': tooBusy })
    await lane.send('cycle', pointFixture(1))
    await lane.page
      .getByRole('status')
      .filter({ hasText: /\(picks\), because too busy/ })
      .waitFor()
    expect(await lane.page.getByRole('link', { name: '첫째' }).count()).toBe(1)
    expect(await lane.page.getByText('No picks:').count()).toBe(0)
  })

  test('a row with data that the page does not expect is shown as such, and all others are shown', async () => {
    const [good] = picksFixture.picks
    // Half of a surrogate pair has no percent-encoded form.
    const bad = { ...good!, gall_id: '\ud800', images: [{ position: 1, sha256: 'x' }] }
    const picks = [bad, ...picksFixture.picks, { gall_id: 'empty' }]
    const saves = [...picksFixture.saves, { ...picksFixture.saves[0]!, gall_id: '\ud800' }]
    lane.visitor.expectProblems(/^a part of the page cannot be shown/)
    await lane.show('picks', { '/picks': { ...picksFixture, picks, saves, matching: 4 } })
    const rows = lane.table(list).locator('.rows-body > .row')
    const broken = (index: number) => rows.nth(index).getByText('cannot be shown').count()
    expect(await rows.count()).toBe(4)
    expect([await broken(0), await broken(1), await broken(2)]).toEqual([1, 0, 0])
    expect(await broken(3)).toBeGreaterThan(1)
    const saved = lane.page.getByRole('complementary', { name: 'Latest saves' })
    expect([await saved.getByRole('row').count(), await saved.getByText('cannot be shown').count()]).toEqual([
      4, 1,
    ])
  })
})
