/**
 * The documented formula of every feature, written down a second time in the most obvious way: one function of one row,
 * in float64, without anything of src/model/features. NaN is a missing feature. It is the source of the golden files.
 */
import type { Row } from './rows.js'

type Formula = (row: Row, cycleAtMs: number) => number

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
const counters = ['views', 'up', 'down', 'comment_cnt', 'rtb_vote']
const partedCounters = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt']
const snapshotCounters = [
  ...partedCounters.flatMap((name) => [name, `${name}_m`, `${name}_a`]),
  'memo_size',
  'upimg_cnt',
]

/** The natural logarithm of 1 + x, with the sign of x. */
const log = (x: number): number => Math.sign(x) * Math.log1p(Math.abs(x))
const clamp = (x: number, min: number, max: number): number =>
  Number.isNaN(x) ? NaN : Math.min(Math.max(x, min), max)
const isPresent = (x: number): number => (Number.isNaN(x) ? 0 : 1)
const get = (row: Row, path: string): number => {
  const value = row[path]
  if (value === undefined) throw new Error(`a row has no ${path}`)
  return value
}

const now = (row: Row, name: string): number => get(row, `engagement.${name}`)
const hasPrevious = (row: Row): boolean => isPresent(get(row, 'previous.observedAtMs')) === 1
const before = (row: Row, name: string): number => (hasPrevious(row) ? get(row, `previous.${name}`) : NaN)
const gain = (row: Row, name: string): number => now(row, name) - before(row, name)
const readAt = (row: Row): number => get(row, 'engagement.observedAtMs')

function perHour(row: Row, name: string): number {
  const hours = (readAt(row) - get(row, 'previous.observedAtMs')) / hour
  return hours > 0 ? log(gain(row, name) / Math.max(hours, 1 / 60)) : NaN
}

function perHourOfLife(row: Row, name: string): number {
  return log(now(row, name) / Math.max((readAt(row) - get(row, 'posts.createdAtMs')) / hour, 1 / 12))
}

function gainShare(row: Row, name: string): number {
  const [part, views] = [gain(row, name), gain(row, 'views')]
  if (Number.isNaN(part) || Number.isNaN(views)) return NaN
  return part > 0 && views > 0 ? Math.min(part / views, 1) : 0
}

const ageDays = (at: number, cycleAtMs: number): number => clamp((cycleAtMs - at) / day, 0, 3)
const hoursLog = (from: number, until: number): number => log(clamp((until - from) / hour, 0, Infinity))

/** The part of the day in Korea that has passed at a time, 0 to 1. */
function dayShareInKorea(ms: number): number {
  const korea = ms + 9 * hour
  return (((korea % day) + day) % day) / day
}

const wave = (kind: 'sin' | 'cos', ms: number): number => Math[kind](2 * Math.PI * dayShareInKorea(ms))

function textMeasure(row: Row, text: string, name: string): number {
  if (text === 'body' && get(row, 'posts.bodyPresent') === 0) return NaN
  return get(row, `posts.${text}.${name}`)
}

function textShare(row: Row, text: string, name: string): number {
  const [part, chars] = [textMeasure(row, text, name), textMeasure(row, text, 'chars')]
  return Number.isNaN(part) ? NaN : Math.min(part / Math.max(chars, 1), 1)
}

function imagesDue(row: Row): number {
  const expected = get(row, 'posts.imagesExpected')
  return Number.isNaN(expected) ? get(row, 'posts.imagesInPost') : expected
}

function imagesShare(row: Row, count: number): number {
  const due = imagesDue(row)
  return due === 0 ? 1 : Math.min(count / due, 1)
}

const hasSnapshot = (row: Row): boolean => isPresent(get(row, 'snapshot.snapshotAtMs')) === 1
const snapshot = (row: Row, name: string): number => (hasSnapshot(row) ? get(row, `snapshot.${name}`) : NaN)
const orZero = (x: number): number => (Number.isNaN(x) ? 0 : x)

function snapshotTotal(row: Row, name: string): number {
  if (!hasSnapshot(row)) return NaN
  return ['', '_m', '_a'].reduce((sum, part) => sum + orZero(snapshot(row, `${name}${part}`)), 0)
}

function snapshotShare(row: Row, name: string, part: string): number {
  const total = snapshotTotal(row, name)
  if (Number.isNaN(total)) return NaN
  return total === 0 ? 0 : orZero(snapshot(row, `${name}${part}`)) / total
}

/** One formula for each of `names`, which replaces the `#` of the feature's name. */
function each(
  names: readonly string[],
  name: string,
  make: (name: string) => Formula,
): Record<string, Formula> {
  return Object.fromEntries(names.map((one) => [name.replace('#', one), make(one)]))
}

const texts = (
  text: string,
  logs: readonly string[],
  shares: readonly string[],
): Record<string, Formula> => ({
  ...each(logs, `${text}_#_log`, (name) => (row) => log(textMeasure(row, text, name))),
  ...each(shares, `${text}_#_share`, (name) => (row) => textShare(row, text, name)),
})

/** The formulas of catalogue version 1, by name. */
export const formulas: Readonly<Record<string, Formula>> = {
  ...each(counters, '#', (name) => (row) => now(row, name)),
  ...each(counters, '#_log', (name) => (row) => log(now(row, name))),
  ...each(counters, '#_missing', (name) => (row) => 1 - isPresent(now(row, name))),
  up_per_view: (row) => Math.min(now(row, 'up') / Math.max(now(row, 'views'), 1), 1),
  down_per_view: (row) => Math.min(now(row, 'down') / Math.max(now(row, 'views'), 1), 1),
  comments_per_view: (row) => Math.min(now(row, 'comment_cnt') / Math.max(now(row, 'views'), 1), 1),
  rtb_per_view: (row) => Math.min(now(row, 'rtb_vote') / Math.max(now(row, 'views'), 1), 1),
  rtb_per_up: (row) => Math.min(now(row, 'rtb_vote') / Math.max(now(row, 'up'), 1), 10),
  comments_per_up: (row) => Math.min(now(row, 'comment_cnt') / Math.max(now(row, 'up'), 1), 10),
  down_share: (row) => now(row, 'down') / Math.max(now(row, 'up') + now(row, 'down'), 1),
  up_share_smoothed: (row) => (now(row, 'up') + 1) / (now(row, 'up') + now(row, 'down') + 2),
  votes_log: (row) => log(now(row, 'up') + now(row, 'down')),

  previous_present: (row) => (hasPrevious(row) ? 1 : 0),
  previous_minutes_log: (row) =>
    log(clamp((readAt(row) - get(row, 'previous.observedAtMs')) / minute, 0, 1440)),
  ...each(counters, '#_gain', (name) => (row) => gain(row, name)),
  ...each(counters, '#_gain_log', (name) => (row) => log(gain(row, name))),
  ...each(counters, '#_per_hour', (name) => (row) => perHour(row, name)),
  ...each(counters, '#_per_hour_of_life', (name) => (row) => perHourOfLife(row, name)),
  ...each(
    ['views', 'up', 'comment_cnt'],
    '#_momentum',
    (name) => (row) => perHour(row, name) - perHourOfLife(row, name),
  ),
  up_gain_per_view_gain: (row) => gainShare(row, 'up'),
  comments_gain_per_view_gain: (row) => gainShare(row, 'comment_cnt'),

  created_age_days: (row, cycleAtMs) => ageDays(get(row, 'posts.createdAtMs'), cycleAtMs),
  created_age_log: (row, cycleAtMs) => hoursLog(get(row, 'posts.createdAtMs'), cycleAtMs),
  extracted_age_days: (row, cycleAtMs) => ageDays(get(row, 'posts.extractedAtMs'), cycleAtMs),
  extracted_age_log: (row, cycleAtMs) => hoursLog(get(row, 'posts.extractedAtMs'), cycleAtMs),
  extraction_delay_log: (row) => hoursLog(get(row, 'posts.createdAtMs'), get(row, 'posts.extractedAtMs')),
  reading_age_log: (row, cycleAtMs) => hoursLog(readAt(row), cycleAtMs),
  cycle_hour_sin: (_, cycleAtMs) => wave('sin', cycleAtMs),
  cycle_hour_cos: (_, cycleAtMs) => wave('cos', cycleAtMs),
  created_hour_sin: (row) => wave('sin', get(row, 'posts.createdAtMs')),
  created_hour_cos: (row) => wave('cos', get(row, 'posts.createdAtMs')),

  ...texts(
    'title',
    ['chars', 'words', 'questions', 'exclamations'],
    ['hangul', 'jamo', 'laughs', 'latin', 'digits', 'han', 'spaces', 'punctuation', 'emoji'],
  ),
  body_present: (row) => get(row, 'posts.bodyPresent'),
  ...texts(
    'body',
    ['chars', 'words', 'questions', 'exclamations', 'tags', 'images', 'links'],
    ['hangul', 'jamo', 'laughs', 'latin', 'digits', 'punctuation', 'emoji'],
  ),

  ...Object.fromEntries(
    ['keyword', 'manual', 'score', 'setting', 'unknown', 'vote'].map((source, code) => [
      `source_${source}`,
      (row: Row) => (get(row, 'posts.source') === code ? 1 : 0),
    ]),
  ),
  manual_flag: (row) => get(row, 'posts.manualFlag'),
  ...Object.fromEntries(
    ['main', 'mini', 'minor'].map((type, code) => [
      `gallery_${type}`,
      (row: Row) => (get(row, 'posts.galleryType') === code ? 1 : 0),
    ]),
  ),
  category_present: (row) => isPresent(get(row, 'posts.categoryId')),
  text_encoded: (row) => get(row, 'textEncoded'),

  images_in_post_log: (row) => log(get(row, 'posts.imagesInPost')),
  images_any: (row) => (get(row, 'posts.imagesInPost') > 0 ? 1 : 0),
  images_expected_present: (row) => isPresent(get(row, 'posts.imagesExpected')),
  images_expected_log: (row) => log(get(row, 'posts.imagesExpected')),
  images_stored_log: (row) => log(get(row, 'imagesStored')),
  images_stored_share: (row) => imagesShare(row, get(row, 'imagesStored')),
  images_outstanding_log: (row) => log(Math.max(imagesDue(row) - get(row, 'imagesStored'), 0)),
  images_encoded_log: (row) => log(get(row, 'imagesEncoded')),
  images_encoded_share: (row) => imagesShare(row, get(row, 'imagesEncoded')),

  snapshot_present: (row) => (hasSnapshot(row) ? 1 : 0),
  snapshot_age_log: (row, cycleAtMs) => hoursLog(get(row, 'snapshot.snapshotAtMs'), cycleAtMs),
  ...each(snapshotCounters, 'snapshot_#', (name) => (row) => snapshot(row, name)),
  ...each(snapshotCounters, 'snapshot_#_log', (name) => (row) => log(snapshot(row, name))),
  snapshot_upimg_height: (row) => snapshot(row, 'upimg_height') / 32_767,
  ...each(partedCounters, 'snapshot_#_total_log', (name) => (row) => log(snapshotTotal(row, name))),
  snapshot_hit_cnt_mobile_share: (row) => snapshotShare(row, 'hit_cnt', '_m'),
  snapshot_hit_cnt_app_share: (row) => snapshotShare(row, 'hit_cnt', '_a'),
  snapshot_recommend_up_cnt_mobile_share: (row) => snapshotShare(row, 'recommend_up_cnt', '_m'),
  snapshot_recommend_up_cnt_app_share: (row) => snapshotShare(row, 'recommend_up_cnt', '_a'),
}
