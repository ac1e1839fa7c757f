/**
 * Exports stored cycles: reads them in order of arrival and stages the rows of every table. Read `exportStore` first.
 */
import type { Codec } from '../../codec/index.js'
import {
  counterNames,
  headNames,
  outcomeCodes,
  snapshotNames,
  type CycleColumns,
  type CycleRequest,
  type CycleResponse,
  type HeadColumns,
  type KeyColumns,
  type ResultRow,
} from '../../contract/index.js'
import type { Feature } from '../../model/index.js'
import type { WeightsHistory } from '../../pool/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { ArrivalVisits, type ArrivalVisit } from '../arrival-visits.js'
import { readBody, readResponse } from '../records.js'
import { shadowHeads, weightedScores, weightsOf } from '../version-scores.js'
import { exportOutcomes } from './export-outcomes.js'
import { exportVisits } from './export-visits.js'
import { FeatureReader, type FeatureColumns } from './feature-reader.js'
import { PostNumbers } from './post-numbers.js'
import type { Staging } from './staging.js'
import { instantOf } from './values.js'

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
  const { staging, codec } = options
  const cycles = new Map([...store.evaluatedCycles(), ...store.tail(1)].map((each) => [each.position, each]))
  for (const cycle of cycles.values()) staging.addPosition(cycle)
  const isChosen = ({ cycleAtMs }: StoredCycle): boolean =>
    options.fromMs <= cycleAtMs && cycleAtMs <= options.toMs
  const posts = new PostNumbers(staging)
  const visits = new ArrivalVisits(store)
  const exporter = new CycleExporter(store, options, posts, visits)
  const features = new FeatureReader(store, options, posts, [...store.tail(1)].filter(isChosen))
  let count = 0
  try {
    for (const stored of store.tail(1)) {
      const ended = visits.add(stored.position)
      if (!isChosen(stored)) continue
      const json = await readBody(store, stored.position)
      exporter.add(
        stored,
        { json, cycle: codec.decodeCycle(json), ended },
        await features.at(stored.position),
      )
      count++
      if (staging.isFull) await staging.flush()
    }
  } finally {
    await features.close()
  }
  const overlapping = visits.visits.filter(({ entered, left }) => {
    const began = cycles.get(entered?.position ?? -1)?.cycleAtMs ?? -Infinity
    const ended = cycles.get(left?.position ?? -1)?.cycleAtMs ?? Infinity
    return began <= options.toMs && ended >= options.fromMs
  })
  await exportVisits(store, overlapping, options, posts)
  exportOutcomes(store, options, posts)
  await staging.end()
  return count
}

interface ExportedCycle {
  readonly json: Uint8Array
  readonly cycle: CycleColumns
  /** The visits that ended with it. */
  readonly ended: readonly ArrivalVisit[]
}

/** Stages the rows of one cycle. */
class CycleExporter {
  readonly #store: Store
  readonly #options: ExportOptions
  readonly #posts: PostNumbers
  readonly #visits: ArrivalVisits
  readonly #weights: WeightsHistory
  #newestMs = -Infinity

  constructor(store: Store, options: ExportOptions, posts: PostNumbers, visits: ArrivalVisits) {
    this.#store = store
    this.#options = options
    this.#posts = posts
    this.#visits = visits
    this.#weights = store.listWeights()
  }

  add(stored: StoredCycle, exported: ExportedCycle, features: FeatureColumns | null): void {
    const response = readResponse(this.#store, stored.cycleId)
    this.#addCycle(stored, response)
    this.#addScores(stored, response, features)
    this.#addShadowScores(stored, response)
    this.#addReadings(stored, exported.cycle)
    this.#addSnapshots(stored, exported.cycle)
    this.#addRemovals(stored, exported)
  }

  #addCycle(stored: StoredCycle, response: CycleResponse): void {
    const { position, cycleAtMs, modelVersion, weightsVersion } = stored
    const { counts, missing_feature_share, warnings, scored_at } = response
    const { views, comments, up, downvote_share } = weightsOf(this.#weights, stored.weightsVersion)
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
    this.#options.staging.append('cycles', 1, {
      position: Int32Array.of(position),
      ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Float64Array.of(value)])),
      ...{ model_version: [modelVersion], weights_version: [weightsVersion] },
      warnings: [JSON.stringify(warnings)],
    })
  }

  #addScores({ position }: StoredCycle, { results }: CycleResponse, features: FeatureColumns | null): void {
    const keys = this.#resultKeys(position, results)
    this.#options.staging.append('scores', results.length, {
      ...keys,
      outcome: Float64Array.from(results, ({ status, reason = null }) =>
        outcomeCodes.findIndex((each) => each.status === status && each.reason === reason),
      ),
      score: Float32Array.from(results, ({ score }) => score ?? NaN),
      ...Object.fromEntries(
        headNames.map((name) => [name, Float32Array.from(results, (row) => row[name] ?? NaN)]),
      ),
      ...featureValues(this.#options.features, features, keys.post),
    })
  }

  #addShadowScores(stored: StoredCycle, { results }: CycleResponse): void {
    const { position, cycleId } = stored
    const versions = this.#store.models.shadowVersions(position)
    if (versions.length === 0) return
    const scored = results.filter(({ status }) => status === 'scored')
    const keys = this.#resultKeys(position, scored)
    const weights = weightsOf(this.#weights, stored.weightsVersion)
    for (const version of versions) {
      const heads = shadowHeads(this.#store, stored, version) as HeadColumns
      this.#options.staging.append('shadow_scores', scored.length, {
        ...keys,
        model_version: new Array<string>(scored.length).fill(version),
        score: weightedScores(heads, weights, scored.length, `${version} at ${cycleId}`),
        ...Object.fromEntries(
          headNames.map((name) => [name, heads[name] ?? new Float32Array(scored.length).fill(NaN)]),
        ),
      })
    }
  }

  #resultKeys(position: Position, results: readonly ResultRow[]): RowKeys & { readonly entered: Int32Array } {
    return {
      position: new Int32Array(results.length).fill(position),
      post: Int32Array.from(results, ({ gall_id, post_no }) => this.#posts.number(gall_id, post_no)),
      entered: Int32Array.from(results, ({ gall_id, post_no, reason }) =>
        reason === 'unknown_post' ? -1 : (this.#visits.open(gall_id, post_no)?.entered?.position ?? -1),
      ),
    }
  }

  #addReadings({ position }: StoredCycle, { engagement, galleries }: CycleColumns): void {
    const { count, status, observedAtMs, observedAtFraction } = engagement
    this.#options.staging.append('readings', count, {
      ...this.#keys(position, engagement, galleries),
      observed_at: sumOf(observedAtMs, observedAtFraction),
      status: Float64Array.from(status),
      ...Object.fromEntries(counterNames.map((name) => [name, engagement[name].slice(0, count)])),
    })
  }

  #addSnapshots({ position }: StoredCycle, { candidateScores, galleries }: CycleColumns): void {
    const { count, snapshotAtMs, snapshotAtFraction } = candidateScores
    this.#options.staging.append('snapshots', count, {
      ...this.#keys(position, candidateScores, galleries),
      snapshot_at: sumOf(snapshotAtMs, snapshotAtFraction),
      ...Object.fromEntries(snapshotNames.map((name) => [name, candidateScores[name].slice(0, count)])),
    })
  }

  #addRemovals({ position }: StoredCycle, { cycle, json, ended }: ExportedCycle): void {
    const { count, reason, tier, decidedAtMs } = cycle.removals
    const keys = this.#keys(position, cycle.removals, cycle.galleries)
    const visits = new Map(
      ended.map(({ gallId, postNo, entered }) => [this.#posts.number(gallId, postNo), entered?.position]),
    )
    const entered = Int32Array.from(keys.post, (number) => {
      const began = visits.get(number) ?? -1
      // A second removal of the post in one call has no effect.
      visits.delete(number)
      return began
    })
    this.#options.staging.append('removals', count, {
      ...keys,
      entered,
      reason_code: reasonCodes(json, count),
      reason: Float64Array.from(reason),
      tier: Float64Array.from(tier),
      decided_at: decidedAtMs,
    })
  }

  #keys(position: Position, rows: KeyColumns, galleries: readonly string[]): RowKeys {
    return {
      position: new Int32Array(rows.count).fill(position),
      post: this.#posts.numbers(rows, galleries),
    }
  }
}

interface RowKeys {
  readonly position: Int32Array
  readonly post: Int32Array
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
