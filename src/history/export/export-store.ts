/**
 * Exports stored cycles to Parquet files: reads them in order of arrival and stages the rows of every table. Read
 * `exportStore` first.
 */
import { withRelease } from '../../base/index.js'
import { decodeCycle } from '../../codec/index.js'
import {
  counterNames,
  headNames,
  outcomeCodeOf,
  snapshotNames,
  type CycleHash,
  type CycleColumns,
  type CycleRequest,
  type CycleResponse,
  type KeyColumns,
  type GalleryIds,
} from '../../contract/index.js'
import { readBody } from '../../cycle/index.js'
import type { Feature, MissingValues } from '../../model/index.js'
import { readCycleTable } from '../../records/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { hashOf, readResponse, recordAt } from '../recorded/records.js'
import { StoredVisits } from '../recorded/stored-visits.js'
import { shadowHeads, weightedScores, weightsOf } from '../replay/version-scores.js'
import { ExportedFeatures } from './export-features.js'
import { exportOutcomes } from './export-outcomes.js'
import { exportVisits } from './export-visits.js'
import type { TableName } from './schema.js'
import { Staging } from './staging.js'

export interface ExportOptions {
  readonly directory: string
  /** Cycles with `fromMs` ≤ `cycle_time` ≤ `toMs`, and what belongs to them. */
  readonly fromMs: number
  readonly toMs: number
  /** Columns of `scores`. */
  readonly features: readonly Feature[]
  /** What stands for a missing value of a feature; NaN becomes null. */
  readonly missing: MissingValues
  /** Whether `visits` has the bodies of the posts. */
  readonly texts: boolean
  /** Tables to write; absent: all. */
  readonly tables?: readonly TableName[]
}

export interface ExportedCounts {
  readonly cycles: number
  /** Rows of each table. */
  readonly rows: Readonly<Record<string, number>>
  /** The cycle that arrived last; null in an empty store. */
  readonly last_hash: CycleHash | null
}

/** Writes the files of the tables. */
export async function exportStore(store: Store, options: ExportOptions): Promise<ExportedCounts> {
  const { directory, features, tables } = options
  const names = features.map(({ name }) => name)
  const staging = await Staging.open({ directory, features: names, ...(tables && { tables }) })
  const write = async (): Promise<ExportedCounts> => {
    const cycles = await exportTo(staging, store, options)
    await staging.writeAll()
    return { cycles, rows: staging.rowCounts, last_hash: hashOf(store, store.lastCycle()) }
  }
  return withRelease(write, () => staging.close())
}

/** Stages and writes all rows; returns the number of cycles. */
async function exportTo(staging: Staging, store: Store, options: ExportOptions): Promise<number> {
  const { fromMs, toMs } = options
  const cycles = new Map([...store.recordedCycles()].map((each) => [each.position, each]))
  for (const cycle of cycles.values()) staging.addPosition(cycle)
  const isChosen = ({ cycleAtMs }: StoredCycle): boolean => fromMs <= cycleAtMs && cycleAtMs <= toMs
  const features = new ExportedFeatures(store, staging, options, [...store.tail(1)].filter(isChosen))
  const visits = new StoredVisits(store)
  const exporter = new CycleExporter(store, staging, visits, features)
  let count = 0
  const addCycles = async (): Promise<void> => {
    for (const stored of store.tail(1)) {
      if (!isChosen(stored)) continue
      const json = await readBody(store, stored.position)
      await exporter.add(stored, { json, cycle: decodeCycle(json) })
      count++
      if (staging.isFull) await staging.flush()
    }
  }
  await withRelease(addCycles, () => features.close())
  const overlapping = visits.list().filter(({ entered, departure }) => {
    const began = cycles.get(entered?.position ?? -1)?.cycleAtMs ?? -Infinity
    const ended = departure?.cycle.cycleAtMs ?? Infinity
    return began <= toMs && ended >= fromMs
  })
  await exportVisits(store, staging, overlapping, options.texts)
  exportOutcomes(store, staging, options)
  return count
}

interface ExportedCycle {
  readonly json: Uint8Array
  readonly cycle: CycleColumns
}

/** Stages the rows of one cycle. */
class CycleExporter {
  readonly #store: Store
  readonly #staging: Staging
  readonly #visits: StoredVisits
  readonly #features: ExportedFeatures
  #newestMs = -Infinity

  constructor(store: Store, staging: Staging, visits: StoredVisits, features: ExportedFeatures) {
    this.#store = store
    this.#staging = staging
    this.#visits = visits
    this.#features = features
  }

  async add(stored: StoredCycle, { json, cycle }: ExportedCycle): Promise<void> {
    const response = readResponse(this.#store, stored.cycleId)
    const record = recordAt(this.#store, stored.position)
    const keys = this.#resultKeys(stored.position, response, record)
    this.#addCycle(stored, response)
    await this.#addScores(stored, response, keys)
    this.#addShadowScores(stored, response, keys)
    this.#addReadings(stored, cycle)
    this.#addSnapshots(stored, cycle)
    this.#addRemovals(stored, cycle, { json, record })
  }

  #addCycle(stored: StoredCycle, response: CycleResponse): void {
    const { position, cycleAtMs } = stored
    const { counts, missing_feature_share, warnings, scored_at } = response
    const { views, comments, up, downvote_share } = weightsOf(this.#store, stored.weightsVersion)
    this.#staging.add('cycles', {
      position,
      scored_at,
      ...counts,
      scored: counts.scored_now,
      missing_feature_share,
      warnings,
      weight_views: views,
      weight_comments: comments,
      weight_up: up,
      weight_downvote_share: downvote_share,
      late: cycleAtMs < this.#newestMs,
    })
    this.#newestMs = Math.max(this.#newestMs, cycleAtMs)
  }

  async #addScores({ position }: StoredCycle, { results }: CycleResponse, keys: ResultKeys): Promise<void> {
    this.#staging.append('scores', results.length, {
      ...keys,
      outcome: Uint8Array.from(results, outcomeCodeOf),
      score: Float32Array.from(results, ({ score }) => score ?? NaN),
      ...Object.fromEntries(
        headNames.map((name) => [name, Float32Array.from(results, (row) => row[name] ?? NaN)]),
      ),
      ...(await this.#features.columns(position, keys.post)),
    })
  }

  #addShadowScores(stored: StoredCycle, { results }: CycleResponse, keys: ResultKeys): void {
    const { position, cycleId } = stored
    const versions = this.#store.models.shadowVersions(position)
    if (versions.length === 0) return
    const isScored = (_: number, row: number): boolean => results[row]?.status === 'scored'
    const scored = {
      position: keys.position.filter(isScored),
      post: keys.post.filter(isScored),
      entered: keys.entered.filter(isScored),
    }
    const count = scored.post.length
    const weights = weightsOf(this.#store, stored.weightsVersion)
    for (const version of versions) {
      const heads = shadowHeads(this.#store, stored, version)!
      this.#staging.append('shadow_scores', count, {
        ...scored,
        model_version: new Array<string>(count).fill(version),
        score: weightedScores(heads, weights, count, `${version} at ${cycleId}`),
        ...Object.fromEntries(
          headNames.map((name) => [name, heads[name] ?? new Float32Array(count).fill(NaN)]),
        ),
      })
    }
  }

  /** Pending posts, in the order of the record, and unknown ones. */
  #resultKeys(position: Position, { results }: CycleResponse, record: Uint8Array): ResultKeys {
    const entered = this.#visits.enteredOf(readCycleTable(record, 'results'))
    let slot = 0
    return {
      position: new Int32Array(results.length).fill(position),
      post: Int32Array.from(results, ({ gall_id, post_no }) => this.#staging.postNumber(gall_id, post_no)),
      entered: Int32Array.from(results, ({ reason }) => (reason === 'unknown_post' ? -1 : entered[slot++]!)),
    }
  }

  #addReadings({ position }: StoredCycle, { engagement, galleries }: CycleColumns): void {
    const { count, status, observedAtMs, observedAtFraction } = engagement
    this.#staging.append('readings', count, {
      ...this.#keys(position, engagement, galleries),
      observed_at: sumOf(observedAtMs, observedAtFraction),
      status,
      ...Object.fromEntries(counterNames.map((name) => [name, engagement[name]])),
    })
  }

  #addSnapshots({ position }: StoredCycle, { candidateScores, galleries }: CycleColumns): void {
    const { count, snapshotAtMs, snapshotAtFraction } = candidateScores
    this.#staging.append('snapshots', count, {
      ...this.#keys(position, candidateScores, galleries),
      snapshot_at: sumOf(snapshotAtMs, snapshotAtFraction),
      ...Object.fromEntries(snapshotNames.map((name) => [name, candidateScores[name]])),
    })
  }

  #addRemovals(
    { position }: StoredCycle,
    { removals, galleries }: CycleColumns,
    { json, record }: { readonly json: Uint8Array; readonly record: Uint8Array },
  ): void {
    const recorded = readCycleTable(record, 'removals')
    const { count, reason, tier, decided_at } = recorded
    this.#staging.append('removals', count, {
      ...this.#keys(position, removals, galleries),
      entered: this.#visits.enteredOf(recorded),
      reason_code: reasonCodes(json, count),
      reason,
      tier,
      decided_at,
    })
  }

  #keys(position: Position, rows: KeyColumns, galleries: GalleryIds): RowKeys {
    return {
      position: new Int32Array(rows.count).fill(position),
      post: this.#staging.postNumbers(rows, galleries),
    }
  }
}

interface RowKeys {
  readonly position: Int32Array
  readonly post: Int32Array
}

interface ResultKeys extends RowKeys {
  /** Position of the cycle that began the visit; -1 if it has expired, and for an unknown post. */
  readonly entered: Int32Array
}

/** The columns of a cycle have no `reason_code`: it is read from the body, if there is any. */
function reasonCodes(json: Uint8Array, count: number): (string | null)[] {
  const body = Buffer.from(json.buffer, json.byteOffset, json.length)
  if (count === 0 || !body.includes('reason_code')) return new Array<null>(count).fill(null)
  const { removals } = JSON.parse(body.toString()) as CycleRequest
  return removals.map(({ reason_code }) => reason_code ?? null)
}

function sumOf(ms: Float64Array, fraction: Float64Array): Float64Array {
  return ms.map((value, row) => value + fraction[row]!)
}
