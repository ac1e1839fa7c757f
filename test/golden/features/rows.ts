/**
 * The fixed rows on which the feature catalogue is pinned: every combination of what may be missing as a group, every
 * combination of missing counters, single missing members, and values over their whole span. A row maps the path of a
 * column, such as `engagement.views`, to its number; NaN is a missing value.
 */
import { makeInputs } from '../../helpers/scoring-inputs.js'
import type { ModelInputs } from '../../../src/model/index.js'

export type Row = Readonly<Record<string, number>>

/** Rows of one cycle; features such as the hour of the cycle are the same for all of them. */
export interface CycleOfRows {
  readonly cycleAtMs: number
  readonly rows: readonly Row[]
}

const counters = ['views', 'up', 'down', 'comment_cnt', 'rtb_vote']
const parts = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt']
const snapshotCounters = [
  ...parts.flatMap((name) => [name, `${name}_m`, `${name}_a`]),
  'memo_size',
  'upimg_cnt',
]
const measures = [
  ...['chars', 'hangul', 'jamo', 'laughs', 'latin', 'digits', 'han', 'spaces', 'punctuation', 'emoji'],
  ...['words', 'questions', 'exclamations', 'tags', 'images', 'links'],
]
const absent = 255
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]
/** Midnight, noon and other times in Korea; a leap day; the first and the last year of four digits, more or less. */
const cycles = [
  Date.UTC(2026, 0, 1, 15, 0),
  Date.UTC(2026, 5, 1, 3, 0),
  Date.UTC(2028, 1, 29, 11, 35),
  Date.UTC(2031, 11, 31, 20, 55),
  Date.UTC(1972, 3, 4, 14, 55),
  Date.UTC(9998, 6, 7, 0, 5),
]
const rowsPerCycle = 64

/** Six cycles of 64 rows. */
function makeCycles(): CycleOfRows[] {
  const random = numbersOf(20_260_501)
  return cycles.map((cycleAtMs, cycle) => ({
    cycleAtMs,
    rows: Array.from({ length: rowsPerCycle }, (_, at) =>
      makeRow(cycleAtMs, cycle * rowsPerCycle + at, random),
    ),
  }))
}

/** The inputs of a model for these rows. */
function inputsOf({ cycleAtMs, rows }: CycleOfRows): ModelInputs {
  return makeInputs(rows.length, cycleAtMs, (_, path, row) => rows[row]?.[path] ?? 0)
}

/** The first 256 rows have each combination of eight groups; the others lack single members at random. */
function makeRow(cycleAtMs: number, index: number, random: () => number): Row {
  const row: Record<string, number> = {}
  const isExhaustive = index < 256
  const lacks = (bit: number): boolean => (isExhaustive ? ((index >> bit) & 1) === 1 : random() < 0.15)
  const lacksMember = (): boolean => !isExhaustive && random() < 0.15
  /** Small numbers in most rows, and over the whole span in every third. */
  const count = (): number =>
    index % 3 === 0 ? Math.floor(2 ** (random() * 53)) : Math.floor(2 ** (random() * 12)) - 1
  const before = (): number =>
    cycleAtMs - Math.floor(index % 5 === 0 ? random() * 400 * day - 2 * day : random() * 1.2 * day)

  row['engagement.observedAtMs'] = index % 16 === 0 ? before() : cycleAtMs - Math.floor(random() * 5 * minute)
  const readingMs = row['engagement.observedAtMs']
  row['previous.observedAtMs'] = lacks(0) ? NaN : readingMs - spanMs(index, random)
  row['posts.createdAtMs'] = lacks(1) ? NaN : before()
  row['posts.extractedAtMs'] = lacks(2) ? NaN : before()
  row['posts.bodyPresent'] = lacks(3) ? 0 : 1
  row['snapshot.snapshotAtMs'] = lacks(4) ? NaN : cycleAtMs - Math.floor(random() * 2 * hour)
  row['posts.imagesExpected'] = lacks(5) ? NaN : Math.floor(random() * 5)
  row['posts.categoryId'] = lacks(6) ? NaN : Math.floor(random() * 100)
  row['posts.galleryType'] = lacks(7) ? absent : index % 3

  counters.forEach((name, bit) => {
    const value = count()
    // Every fourth row has the next of the 32 combinations of missing counters.
    const isMissing = index % 4 === 3 && ((index >> 2) >> bit) % 2 === 1
    row[`engagement.${name}`] = isMissing || lacksMember() ? NaN : value
    // Present without a reading before it, too: a slot may still hold those of an earlier post.
    row[`previous.${name}`] = lacksMember() ? NaN : Math.floor(value * random() * 1.2)
  })
  for (const name of snapshotCounters) row[`snapshot.${name}`] = lacksMember() ? NaN : count()
  row['snapshot.upimg_height'] = lacksMember() ? NaN : Math.floor(random() * 32_768)
  for (const text of ['title', 'body'])
    for (const name of measures) row[`posts.${text}.${name}`] = measure(name, index, random)

  row['posts.source'] = index % 6
  row['posts.manualFlag'] = index % 7 === 0 ? 1 : 0
  row['posts.imagesInPost'] = index % 4 === 0 ? 0 : Math.floor(random() * 20)
  row['imagesStored'] = Math.floor(random() * 6)
  row['imagesEncoded'] = Math.floor(random() * 6)
  row['textEncoded'] = index % 2
  return row
}

/** From the reading before: minutes in most rows, also none, less than a minute, days, and backwards. */
function spanMs(index: number, random: () => number): number {
  const kinds = [5 * minute, 5 * minute, 0, 1, 30_000, -minute, 3 * day]
  return (kinds[index % kinds.length] ?? 0) + Math.floor(random() * (index % 7 < 2 ? minute : 1))
}

/** Of a text: also an empty one, and parts that are more than the whole. */
function measure(name: string, index: number, random: () => number): number {
  if (index % 11 === 0) return 0
  return Math.floor(random() * (name === 'chars' ? 300 : index % 13 === 0 ? 2 ** 32 : 120))
}

/** Numbers in 0 to 1 that depend on the seed alone. */
function numbersOf(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 0) / 2 ** 32
  }
}

// After the constants that they are made of.
export const cyclesOfRows: readonly CycleOfRows[] = makeCycles()
/** The inputs of a model for each cycle. */
export const inputsOfRows: readonly ModelInputs[] = cyclesOfRows.map(inputsOf)
