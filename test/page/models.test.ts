/** Models: each figure, state and command is that of its version. All values of the fixture differ. */
import { describe, expect, test } from 'vitest'
import type { Models, VerificationReport } from '../../src/contract/index.js'
import { browserMissing } from '../helpers/browser.js'
import { modelsFixture } from '../helpers/page-fixtures.js'
import { attributesOf, badgesOf, factsOf, pageLane, textOf, textsOf } from '../helpers/page-lane.js'

const versions = ['v-now', 'v-next', 'v-bad', 'v-old', 'v-broken']

describe.skipIf(browserMissing)('Models', () => {
  const lane = pageLane()

  const show = (change: Partial<Models> = {}): Promise<void> =>
    lane.show('models', { '/models': { ...modelsFixture, ...change } })
  const card = (version: string) => lane.region(version)

  test('versions in use come first: serving, shadow, loading, wanted, failed; each has its state', async () => {
    await show()
    expect(await attributesOf(lane.page.locator('.card'), 'aria-label')).toEqual(versions)
    expect(await textOf(lane.page.locator('.list-head'))).toBe(
      'Models 5 versions in /srv/models, shadows skipped 13 cycles',
    )
    expect(await Promise.all(versions.map((version) => badgesOf(card(version))))).toEqual([
      ['ok serving'],
      ['accent shadow', 'warn transport test'],
      ['fail failed'],
      ['plain not in use'],
      ['plain not in use'],
    ])
  })

  test('a version has its facts', async () => {
    await show()
    expect(await factsOf(card('v-now'))).toEqual({
      Kind: 'trained',
      Heads: 'p_views, p_up',
      Reads: 'features, text, images',
      'Runs on': 'cpu',
      Memory: '500 MiB',
      'Time per cycle': '11.5 ms median, 29.5 ms p99 of 287 cycles',
      Note: 'a note',
      'Trained on': 'march data',
      'Git commit': 'abc123',
    })
    expect(await factsOf(card('v-old'))).toEqual({
      Kind: 'trained',
      Heads: '–',
      Reads: 'features',
      Memory: '100 MiB',
    })
    await card('v-now').getByText('3 features').click()
    await card('v-now').getByText('f1, f2, f3').waitFor()
  })

  test('a version that failed, cannot be read, serves instead of another, or has changed, says so, and no other does', async () => {
    await show()
    const notices = await Promise.all(
      versions.map(async (version) => [version, ...(await textsOf(card(version).locator('.notice')))]),
    )
    expect(notices).toEqual([
      [
        'v-now',
        'Serves instead of v-bad since 2026-03-02 12:32 KST, which failed its cycles, until a version is activated: no memory',
      ],
      [
        'v-next',
        'Changed on disk: heads.onnx differs. The server keeps the files that it has loaded; a restart refuses the changed ones.',
      ],
      ['v-bad', 'Failed 2026-03-02 12:31 KST: no file'],
      ['v-old'],
      ['v-broken', 'The package cannot be read: manifest.json: no JSON'],
    ])
  })

  test('each version has the commands that change something for it, and the serving one leads back', async () => {
    await show()
    const commands = (version: string): Promise<string[]> => textsOf(card(version).locator('code'))
    expect(await commands('v-old')).toEqual([
      'verify v-old',
      'inspect v-old',
      'shadow v-old',
      'activate v-old',
    ])
    expect(await commands('v-now')).toEqual(['verify v-now', 'inspect v-now', 'activate v-old'])
    expect(await textOf(card('v-now'))).toContain('Back to v-old, which scored before:')
  })

  test('a command is copied as it is shown', async () => {
    await show()
    await lane.visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await card('v-old').getByRole('button', { name: 'Copy: verify v-old' }).click()
    await card('v-old').getByText('copied').waitFor()
    expect(await lane.page.evaluate<string>('navigator.clipboard.readText()')).toBe('verify v-old')
  })

  test('each check has its state and its sentence', async () => {
    const checks = (['pass', 'warn', 'fail', 'skip'] as const).map((state, i) => ({
      check: `check_${i}`,
      state,
      sentence: `Sentence ${i}.`,
    })) as unknown as VerificationReport['checks']
    await lane.show('models', { '/models/v-old/checks': { checks } })
    const details = card('v-old').locator('details', { hasText: 'Checks' })
    await details.locator('summary').click()
    await details.getByText('Sentence 0.').waitFor()
    expect(await factsOf(details)).toEqual({
      'Check 0': 'passed Sentence 0.',
      'Check 1': 'warning Sentence 1.',
      'Check 2': 'failed Sentence 2.',
      'Check 3': 'skipped Sentence 3.',
    })
    expect(await badgesOf(details)).toEqual(['ok passed', 'warn warning', 'fail failed', 'plain skipped'])
  })

  test('each other version can be compared with the serving one: its figures, and the quality of both', async () => {
    await show()
    const agreement = (version: string) =>
      card(version).locator('details', { hasText: 'Agreement with v-now' })
    expect(await Promise.all(versions.map((version) => agreement(version).count()))).toEqual([0, 1, 1, 1, 1])
    await agreement('v-next').locator('summary').click()
    await agreement('v-next').getByText('Rank correlation').waitFor()
    expect(await factsOf(agreement('v-next'))).toEqual({
      Cycles: '288, 03-01 12:05 to 03-02 12:00',
      Posts: '45,678',
      'Rank correlation': '0.912',
      'In common': '71% of the best 10, 72% of the best 50',
      'Mean difference': '0.0123',
    })
    expect(await lane.rowsOf(/^Differences/)).toMatchObject([
      { Order: 'v-1', Against: 'v-2', Difference: '+6.0 pp +4.9 to +7.2', Verdict: 'better' },
    ])
    expect(await lane.rowsOf(/^Quality over these cycles/)).toMatchObject([
      { Order: 'v-1', 'Saved posts found': '53.1% 52.0 to 55.0', Earlier: '41 min' },
      { Order: 'v-2', 'Saved posts found': '43.1% 42.0 to 45.0', Earlier: '51 min' },
    ])
  })

  test('a models directory that cannot be read is named with the reason, not as empty', async () => {
    await show({ models: [], problem: 'EACCES: /srv/models' })
    expect(await textsOf(lane.page.locator('main .notice'))).toEqual([
      'The models directory cannot be read: EACCES: /srv/models',
    ])
    expect(await lane.page.locator('.empty').count()).toBe(0)
  })
})
