/**
 * Exports stored cycles: reads them in order of arrival and stages the rows of every table. Read `exportStore` first.
 */
import type { Codec } from '../../codec/index.js'
import {
  counterNames,
  headNames,
  outcome,
  outcomeCodes,
  snapshotNames,
  type CycleColumns,
  type CycleRequest,
  type CycleResponse,
  type KeyColumns,
} from '../../contract/index.js'
import type { Feature } from '../../model/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { readBody, readResponse } from '../records.js'
import { weightsOf } from '../score-pairs.js'
import { exportOutcomes } from './export-outcomes.js'
import { FeatureReader, type FeatureColumns } from './feature-reader.js'
import { PostNumbers } from './post-numbers.js'
import type { Staging } from './staging.js'
import { dayOf, instantOf } from './values.js'
import { VisitTracker } from './visit-tracker.js'

export interface ExportOptions {
  readonly codec: Codec
  readonly staging: Staging
  /** Cycles with `fromMs` ≤ `cycle_time` ≤ `toMs`, and what belongs to them. */
  readonly fromMs: number
  readonly toMs: number
  /** Columns of `scores`, those that the staging has. */
  readonly features: readonly Feature[]
  /** Whether `visits` has the bodies of the posts. */
  readonly texts: boolean
}

/** Stages and writes all rows, and ends the staging; returns the number of cycles. */
export async function exportStore(store: Store, options: ExportOptions): Promise<number> {
  const { staging, fromMs, toMs } = options
  const isChosen = ({ cycleAtMs }: StoredCycle): boolean => fromMs <= cycleAtMs && cycleAtMs <= toMs
  const posts = new PostNumbers(staging)
  const visits = await VisitTracker.open(store, options, posts)
  const exporter = new CycleExporter(store, options, posts, visits)
  const features = new FeatureReader(store, options, posts, [...store.tail(1)].filter(isChosen))
  let count = 0
  try {
    for (const stored of store.tail(1)) {
      const json = isChosen(stored) ? await readBody(store, stored.position) : null
      const cycle = json === null ? null : options.codec.decodeCycle(json)
      visits.add(stored, cycle, json)
      if (cycle === null || json === null) continue
      exporter.add(stored, cycle, { json, features: await features.at(stored.position) })
      count++
      if (staging.isFull) await staging.flush()
    }
  } finally {
    await features.close()
  }
  await visits.stage()
  exportOutcomes(store, options, posts)
  await staging.end()
  return count
}

/** Stages the rows of one cycle. */
class CycleExporter {
  readonly #store: Store
  readonly #options: ExportOptions
  readonly #posts: PostNumbers
  readonly #visits: VisitTracker
  #newestMs = -Infinity

  constructor(store: Store, options: ExportOptions, posts: PostNumbers, visits: VisitTracker) {
    this.#store = store
    this.#options = options
    this.#posts = posts
    this.#visits = visits
  }

  add(
    stored: StoredCycle,
    cycle: CycleColumns,
    { json, features }: { readonly json: Uint8Array; readonly features: FeatureColumns | null },
  ): void {
    const day = dayOf(stored.cycleAtMs)
    const response = readResponse(this.#store, stored.cycleId)
    this.#addCycle(stored, response, day)
    this.#addScores(stored, response, features, day)
    this.#addReadings(stored, cycle, day)
    this.#addSnapshots(stored, cycle, day)
    this.#addRemovals(stored, cycle, json, day)
  }

  #addCycle(stored: StoredCycle, response: CycleResponse, day: string): void {
    const { position, cycleAtMs, modelVersion, weightsVersion } = stored
    const { counts, missing_feature_share, warnings, scored_at } = response
    const { views, comments, up, downvote_share } = weightsOf(this.#store.listWeights(), stored)
    const late = cycleAtMs < this.#newestMs
    this.#newestMs = Math.max(this.#newestMs, cycleAtMs)
    const numbers = {
      scored_at: instantOf(scored_at),
      ...{ weight_views: views, weight_comments: comments, weight_up: up },
      weight_downvote_share: downvote_share,
      ...{ candidates: counts.candidates, engagement: counts.engagement },
      ...{ candidate_scores: counts.candidate_scores, removals: counts.removals },
      ...{ scored: counts.scored_now, waiting: counts.waiting, not_scored: counts.not_scored },
      ...{ results: counts.results, missing_feature_share, late: Number(late) },
    }
    this.#options.staging.append('cycles', day, 1, {
      position: Int32Array.of(position),
      ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Float64Array.of(value)])),
      ...{ model_version: [modelVersion], weights_version: [weightsVersion] },
      warnings: [JSON.stringify(warnings)],
    })
  }

  #addScores(
    { position }: StoredCycle,
    { results }: CycleResponse,
    features: FeatureColumns | null,
    day: string,
  ): void {
    const count = results.length
    const post = Int32Array.from(results, ({ gall_id, post_no }) => this.#posts.number(gall_id, post_no))
    const outcomes = Float64Array.from(results, ({ status, reason = null }) =>
      outcomeCodes.findIndex((each) => each.status === status && each.reason === reason),
    )
    const score = Float32Array.from(results, (row) => row.score ?? NaN)
    this.#options.staging.append('scores', day, count, {
      position: new Int32Array(count).fill(position),
      post,
      entered: Int32Array.from(post, (number, row) =>
        outcomes[row] === outcome.unknownPost ? -1 : this.#visits.enteredOf(number),
      ),
      outcome: outcomes,
      score,
      rank: ranksOf(score),
      ...Object.fromEntries(
        headNames.map((name) => [name, Float32Array.from(results, (row) => row[name] ?? NaN)]),
      ),
      ...featureValues(this.#options.features, features, post),
    })
  }

  #addReadings({ position }: StoredCycle, { engagement, galleries }: CycleColumns, day: string): void {
    const { count, status, observedAtMs, observedAtFraction } = engagement
    this.#options.staging.append('readings', day, count, {
      ...this.#keys(position, engagement, galleries),
      observed_at: sumOf(observedAtMs, observedAtFraction),
      status: Float64Array.from(status),
      ...Object.fromEntries(counterNames.map((name) => [name, engagement[name].slice(0, count)])),
    })
  }

  #addSnapshots({ position }: StoredCycle, { candidateScores, galleries }: CycleColumns, day: string): void {
    const { count, snapshotAtMs, snapshotAtFraction } = candidateScores
    this.#options.staging.append('snapshots', day, count, {
      ...this.#keys(position, candidateScores, galleries),
      snapshot_at: sumOf(snapshotAtMs, snapshotAtFraction),
      ...Object.fromEntries(snapshotNames.map((name) => [name, candidateScores[name].slice(0, count)])),
    })
  }

  #addRemovals(
    { position }: StoredCycle,
    { removals, galleries }: CycleColumns,
    json: Uint8Array,
    day: string,
  ): void {
    const { count, reason, tier, decidedAtMs } = removals
    const keys = this.#keys(position, removals, galleries)
    const ended = new Map(this.#visits.endedNow)
    const entered = Int32Array.from(keys.post, (number) => {
      const visit = ended.get(number) ?? -1
      // A second removal of the post in one call has no effect.
      ended.delete(number)
      return visit
    })
    this.#options.staging.append('removals', day, count, {
      ...keys,
      entered,
      reason_code: reasonCodes(json, count),
      reason: Float64Array.from(reason),
      tier: Float64Array.from(tier),
      decided_at: decidedAtMs,
    })
  }

  #keys(
    position: Position,
    rows: KeyColumns,
    galleries: readonly string[],
  ): { readonly position: Int32Array; readonly post: Int32Array } {
    return {
      position: new Int32Array(rows.count).fill(position),
      post: this.#posts.numbers(rows, galleries),
    }
  }
}

/** Average ranks, 1 for the highest score; NaN for NaN. */
function ranksOf(scores: Float32Array): Float64Array {
  const rows = Array.from(scores.keys()).filter((row) => !Number.isNaN(scores[row]))
  rows.sort((a, b) => (scores[b] as number) - (scores[a] as number))
  const ranks = new Float64Array(scores.length).fill(NaN)
  for (let from = 0; from < rows.length;) {
    let to = from + 1
    while (to < rows.length && scores[rows[to] as number] === scores[rows[from] as number]) to++
    for (let place = from; place < to; place++) ranks[rows[place] as number] = (from + 1 + to) / 2
    from = to
  }
  return ranks
}

/** The columns of a cycle have no `reason_code`: it is read from the body, where there is any. */
function reasonCodes(json: Uint8Array, count: number): (string | null)[] {
  const body = Buffer.from(json.buffer, json.byteOffset, json.length)
  if (count === 0 || !body.includes('reason_code')) return new Array<null>(count).fill(null)
  const { removals } = JSON.parse(body.toString()) as CycleRequest
  return removals.map(({ reason_code }) => reason_code ?? null)
}

function sumOf(ms: Float64Array, fraction: Float64Array): Float64Array {
  return ms.map((value, row) => value + (fraction[row] as number))
}

function featureValues(
  features: readonly Feature[],
  columns: FeatureColumns | null,
  posts: Int32Array,
): Record<string, Float32Array> {
  const rows = Int32Array.from(posts, (post) => columns?.rowOf.get(post) ?? -1)
  return Object.fromEntries(
    features.map(({ name }, index) => {
      const values = new Float32Array(posts.length).fill(NaN)
      if (columns !== null)
        for (let at = 0; at < rows.length; at++)
          if ((rows[at] as number) >= 0)
            values[at] = columns.matrix[(rows[at] as number) * features.length + index] as number
      return [name, values]
    }),
  )
}
