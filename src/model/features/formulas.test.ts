/**
 * Formulas on one post, computed by hand: each line has inputs and the value of a feature.
 */
import { describe, expect, test } from 'vitest'
import { codecs } from '../../../test/helpers/codecs.js'
import { makeInputs } from '../../../test/helpers/scoring-inputs.js'
import { absentCode } from '../../contract/index.js'
import { featureProgram } from './compile.js'
import { findFeature } from './catalogue.js'

// Noon in Korea.
const cycleAtMs = Date.UTC(2026, 5, 1, 3, 0)
const minute = 60_000
const hour = 60 * minute

/** The feature of a post with the given columns, by every codec; other columns are missing, 0, or the time of the cycle. */
function valueOf(name: string, columns: Record<string, number>): number {
  const inputs = makeInputs(1, cycleAtMs, (kind, path) => {
    const given = columns[path]
    if (given !== undefined) return given
    if (kind.startsWith('optional') || kind === 'height') return NaN
    if (kind === 'galleryType') return absentCode
    return kind === 'time' ? cycleAtMs : 0
  })
  const feature = findFeature(name)
  if (feature === undefined) throw new Error(`no feature ${name}`)
  const [value, ...others] = codecs.map((codec) => {
    const out = new Float32Array(1)
    const { program, inputsOf } = featureProgram([feature], 'imputed')
    codec.runColumns(program, inputsOf(inputs), out)
    return out[0]!
  })
  for (const other of others) expect(other).toBeCloseTo(value!, 6)
  return value!
}

const twoReadings = (now: number, before: number, spanMs: number) => ({
  'engagement.views': now,
  'previous.views': before,
  'previous.observedAtMs': cycleAtMs - spanMs,
})

const log1p = Math.log1p

test.each<[string, Record<string, number>, number]>([
  ['views_log', { 'engagement.views': 99 }, log1p(99)],
  ['views_missing', { 'engagement.views': 0 }, 0],
  ['up_per_view', { 'engagement.views': 200, 'engagement.up': 10 }, 0.05],
  ['up_per_view', { 'engagement.views': 2, 'engagement.up': 10 }, 1],
  ['comments_per_up', { 'engagement.up': 0, 'engagement.comment_cnt': 4 }, 4],
  ['down_share', { 'engagement.up': 3, 'engagement.down': 1 }, 0.25],
  ['up_share_smoothed', { 'engagement.up': 3, 'engagement.down': 1 }, 4 / 6],
  ['votes_log', { 'engagement.up': 3, 'engagement.down': 1 }, log1p(4)],
  ['previous_minutes_log', { 'previous.observedAtMs': cycleAtMs - 5 * minute }, log1p(5)],
  ['created_age_days', { 'posts.createdAtMs': cycleAtMs - 12 * hour }, 0.5],
  ['created_age_days', { 'posts.createdAtMs': cycleAtMs + hour }, 0],
  [
    'extraction_delay_log',
    { 'posts.createdAtMs': cycleAtMs - 3 * hour, 'posts.extractedAtMs': cycleAtMs - hour },
    log1p(2),
  ],
  ['reading_age_log', { 'engagement.observedAtMs': cycleAtMs - hour }, log1p(1)],
  ['cycle_hour_cos', {}, -1],
  ['created_hour_sin', { 'posts.createdAtMs': cycleAtMs - 6 * hour }, 1],
  ['title_hangul_share', { 'posts.title.chars': 20, 'posts.title.hangul': 15 }, 0.75],
  ['title_hangul_share', { 'posts.title.chars': 0 }, 0],
  ['body_links_log', { 'posts.bodyPresent': 1, 'posts.body.links': 3 }, log1p(3)],
  ['source_score', { 'posts.source': 2 }, 1],
  ['gallery_minor', { 'posts.galleryType': 2 }, 1],
  ['gallery_main', {}, 0],
  ['category_present', { 'posts.categoryId': 0 }, 1],
  ['images_stored_share', { 'posts.imagesInPost': 9, 'posts.imagesExpected': 4, imagesStored: 3 }, 0.75],
  ['images_stored_share', { 'posts.imagesInPost': 4, imagesStored: 3 }, 0.75],
  ['images_stored_share', {}, 1],
  ['images_outstanding_log', { 'posts.imagesExpected': 4, imagesStored: 3 }, log1p(1)],
])('%s of %o is %d', (name, columns, value) => expect(valueOf(name, columns)).toBeCloseTo(value, 5))

describe('rates', () => {
  test('are signed logarithms, so a counter that shrinks has a negative one', () => {
    expect(valueOf('views_per_hour', twoReadings(110, 100, 6 * minute))).toBeCloseTo(log1p(100), 5)
    expect(valueOf('views_per_hour', twoReadings(100, 110, 6 * minute))).toBeCloseTo(-log1p(100), 5)
    expect(valueOf('views_gain_log', twoReadings(100, 110, 6 * minute))).toBeCloseTo(-log1p(10), 5)
  })

  test('are 0 unless time has passed since the previous reading', () => {
    expect(valueOf('views_per_hour', twoReadings(110, 100, 0))).toBe(0)
    expect(valueOf('views_per_hour', twoReadings(110, 100, -minute))).toBe(0)
  })

  test('use at least one minute between readings', () => {
    expect(valueOf('views_per_hour', twoReadings(101, 100, 1))).toBeCloseTo(log1p(60), 5)
  })

  test('of life are per hour since creation, at least five minutes', () => {
    const at = (createdAtMs: number) => ({ 'engagement.views': 100, 'posts.createdAtMs': createdAtMs })
    expect(valueOf('views_per_hour_of_life', at(cycleAtMs - 2 * hour))).toBeCloseTo(log1p(50), 5)
    expect(valueOf('views_per_hour_of_life', at(cycleAtMs + hour))).toBeCloseTo(log1p(1200), 5)
  })

  test('have their difference as momentum, or 0 if one is missing', () => {
    const readings = twoReadings(110, 100, 6 * minute)
    const created = { 'posts.createdAtMs': cycleAtMs - 2 * hour }
    const expected = log1p(100) - log1p(55)
    expect(valueOf('views_momentum', { ...readings, ...created })).toBeCloseTo(expected, 5)
    expect(valueOf('views_momentum', readings)).toBe(0)
    expect(valueOf('views_momentum', { 'engagement.views': 100, ...created })).toBe(0)
  })

  test('ignore counters of an earlier post in the same slot', () => {
    const stale = { 'engagement.views': 50, 'previous.views': 10, 'engagement.up': 5, 'previous.up': 1 }
    expect(valueOf('views_gain_log', stale)).toBe(0)
    expect(valueOf('up_gain_per_view_gain', stale)).toBe(0)
    const known = { ...stale, 'previous.observedAtMs': cycleAtMs - minute }
    expect(valueOf('up_gain_per_view_gain', known)).toBeCloseTo(0.1, 5)
  })
})

describe('snapshots', () => {
  const counters = {
    'snapshot.hit_cnt': 50,
    'snapshot.hit_cnt_m': 30,
    'snapshot.hit_cnt_a': 20,
    'snapshot.upimg_height': 32767,
  }
  const present = { ...counters, 'snapshot.snapshotAtMs': cycleAtMs - hour }

  test('have counters by part, totals and shares', () => {
    expect(valueOf('snapshot_hit_cnt_m_log', present)).toBeCloseTo(log1p(30), 5)
    expect(valueOf('snapshot_hit_cnt_total_log', present)).toBeCloseTo(log1p(100), 5)
    expect(valueOf('snapshot_hit_cnt_app_share', present)).toBeCloseTo(0.2, 5)
    expect(valueOf('snapshot_upimg_height', present)).toBe(1)
    expect(valueOf('snapshot_age_log', present)).toBeCloseTo(log1p(1), 5)
  })

  test('count a null part as 0 in totals', () => {
    const partly = { ...present, 'snapshot.hit_cnt_a': NaN }
    expect(valueOf('snapshot_hit_cnt_total_log', partly)).toBeCloseTo(log1p(80), 5)
    expect(valueOf('snapshot_hit_cnt_app_share', partly)).toBe(0)
  })

  test('that are absent make every feature 0, whatever the slot holds', () => {
    for (const name of ['snapshot_hit_cnt_log', 'snapshot_hit_cnt_total_log', 'snapshot_hit_cnt_app_share']) {
      expect(valueOf(name, counters)).toBe(0)
    }
    expect(valueOf('snapshot_upimg_height', counters)).toBe(0)
    expect(valueOf('snapshot_present', counters)).toBe(0)
  })
})
