/**
 * Scores of each post in the newest cycles, in columns that are copies: they stay valid after later cycles. The page's
 * ranking, sparklines and timelines read them. Bounded by cycles and by rows, and lost at a restart; the store keeps all
 * cycles.
 */
import {
  GalleryTable,
  headNames,
  outcome,
  type CounterName,
  type CycleResponse,
  type GalleryIds,
  type HeadName,
} from '../contract/index.js'
import type { CycleStored } from '../cycle/index.js'
import { SlotIndex } from '../pool/index.js'

export const trackCounters = ['views', 'up', 'down', 'comment_cnt'] as const satisfies readonly CounterName[]
export type TrackCounter = (typeof trackCounters)[number]

/** Pending posts after one cycle, in order of entry. A value that is missing is NaN. */
export interface Track {
  readonly cycleId: string
  readonly cycleTime: string
  readonly modelVersion: string
  readonly weightsVersion: string
  readonly count: number
  readonly galleries: GalleryIds
  readonly gallery: Uint32Array
  readonly postNo: Float64Array
  /** Rows by post. */
  readonly index: SlotIndex
  /** Index into `outcomeCodes`. */
  readonly outcome: Uint8Array
  readonly score: Float32Array
  readonly heads: Readonly<Record<HeadName, Float32Array | null>>
  /** The scores that are not missing, ascending: the ranks. */
  readonly ascendingScores: () => Float32Array
  /** Latest readings; null: the response of a stored cycle does not have them. */
  readonly counters: Readonly<Record<TrackCounter, Float32Array>> | null
}

const trackCountMax = 48
/** About 48 bytes each. */
const rowCountMax = 400_000

export class ScoreTracks {
  #tracks: readonly Track[] = []

  /** Adds it in order of `cycle_time`: a late cycle does not replace the newest scores. */
  add(track: Track): void {
    const time = Date.parse(track.cycleTime)
    const at = this.#tracks.findLastIndex(({ cycleTime }) => Date.parse(cycleTime) <= time) + 1
    const kept = this.#tracks.toSpliced(at, 0, track)
    let rows = kept.reduce((sum, { count }) => sum + count, 0)
    while (kept.length > 1 && (kept.length > trackCountMax || rows > rowCountMax))
      rows -= kept.shift()?.count ?? 0
    this.#tracks = kept
  }

  /** By `cycle_time`, oldest first. */
  get all(): readonly Track[] {
    return this.#tracks
  }

  get last(): Track | undefined {
    return this.#tracks.at(-1)
  }
}

/**
 * The rank of a row among the posts that have a score, and how many these are. 1 is the highest score, equal scores share a
 * rank; null if the row has no score.
 */
export function rankOf(
  { score, ascendingScores }: Track,
  row: number,
): { readonly rank: number | null; readonly of: number } {
  const own = score[row] ?? NaN
  const ascending = ascendingScores()
  const of = ascending.length
  if (Number.isNaN(own)) return { rank: null, of }
  let [low, high] = [0, of]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ascending[middle] as number) <= own) low = middle + 1
    else high = middle
  }
  return { rank: of - low + 1, of }
}

/** A copy of the scores of a cycle. */
export function trackOf({ plan, response }: CycleStored): Track {
  const { next, outcomes, scoring } = plan
  const { cycleId, cycleTime, modelVersion, weightsVersion, results } = response
  /** By slot. A loop: `Float32Array.from` with a function takes ten times as long. */
  const spread = (values: Float32Array): Float32Array => {
    const column = new Float32Array(next.count).fill(NaN)
    for (let row = 0; row < scoring.count; row++) column[scoring.slots[row] as number] = values[row] as number
    return column
  }
  return {
    ...{ cycleId, cycleTime, modelVersion, weightsVersion },
    ...keysOf(next.galleries, next.gallery.slice(), next.postNo.slice()),
    outcome: outcomes.slice(),
    ...rankedScores(spread(results.score)),
    heads: headColumns((name) => results.heads[name] && spread(results.heads[name])),
    counters: counterColumns((name) => new Float32Array(next.latest[name])),
  }
}

/** The track of a stored response, for the time until the next cycle. */
export function trackOfResponse(response: CycleResponse): Track {
  // Unknown posts follow the pending ones.
  const rows = response.results.filter((row) => row.status !== 'not_scored' || row.reason !== 'unknown_post')
  const galleries = new GalleryTable()
  const values = (name: HeadName | 'score'): Float32Array =>
    Float32Array.from(rows, (row) => (row as Partial<Record<HeadName | 'score', number | null>>)[name] ?? NaN)
  return {
    cycleId: response.cycle_id,
    cycleTime: response.cycle_time,
    modelVersion: response.model_version,
    weightsVersion: response.weights_version,
    ...keysOf(
      galleries.ids,
      Uint32Array.from(rows, (row) => galleries.code(row.gall_id)),
      Float64Array.from(rows, (row) => row.post_no),
    ),
    outcome: Uint8Array.from(rows, (row) => (row.status === 'scored' ? outcome.scored : outcome.waiting)),
    ...rankedScores(values('score')),
    heads: headColumns(values),
    counters: null,
  }
}

function keysOf(
  galleries: GalleryIds,
  gallery: Uint32Array,
  postNo: Float64Array,
): Pick<Track, 'count' | 'galleries' | 'gallery' | 'postNo' | 'index'> {
  return {
    count: postNo.length,
    galleries,
    gallery,
    postNo,
    index: new SlotIndex({ galleries, gallery, postNo }),
  }
}

/** The scores are sorted at the first use: most tracks are never ranked. */
function rankedScores(score: Float32Array): Pick<Track, 'score' | 'ascendingScores'> {
  let ascending: Float32Array | null = null
  return {
    score,
    ascendingScores: () => (ascending ??= score.filter((value) => !Number.isNaN(value)).sort()),
  }
}

function headColumns(column: (name: HeadName) => Float32Array | null): Track['heads'] {
  return Object.fromEntries(headNames.map((name) => [name, column(name)])) as Track['heads']
}

function counterColumns(column: (name: TrackCounter) => Float32Array): Track['counters'] {
  return Object.fromEntries(trackCounters.map((name) => [name, column(name)])) as Track['counters']
}
