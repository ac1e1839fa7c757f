/**
 * The invariants of a run. The oracle reads the disk only: it checks each cycle that reaches the disk against the naive
 * model, in the order of the disk, and each response against the disk.
 */
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { CycleRequest, CycleResponse, ResultRow } from '../../src/contract/index.js'
import type { WeightsSetting } from '../../src/pool/index.js'
import type { RetentionLimits } from '../../src/cycle/retention.js'
import { cycleTables, unpackRows } from '../../src/records/index.js'
import type { StoredRequest } from '../../src/store/index.js'
import type { NaiveResult } from '../helpers/naive-pool.js'
import { boundaryAfter, NaiveService, weightsFor, type ExpectedResponse } from './naive-service.js'
import { RetentionOracle } from './retention-oracle.js'
import type { CycleOnDisk, SimDisk } from './sim-disk.js'
import { imagesShare, titleShare, viewsShare } from './sim-model.js'
import type { SentBody } from './workload.js'

/** The state of the run when a cycle is stored. */
export interface StoreContext {
  /** The version that serves, and whether it has a text encoder. */
  readonly model: { readonly version: string; readonly readsTexts: boolean } | null
  /** Arrival times of the calls with this cycle that have no response yet. */
  readonly arrivedMs: readonly number[]
  /** Bounds of the number of images of a post that the cycle may have counted. */
  readonly images: (post: string) => { readonly min: number; readonly max: number }
}

/** Inputs of a scored row of a stored cycle, for checks of the shadows that score it too. */
interface ScoredRow {
  readonly result: NaiveResult
  readonly images: number
  readonly title: string
}

const textLine = /^text (?:not encoded in time|that the encoder cannot encode), scored without it \((\d+)\)$/

export class Oracle {
  readonly #disk: SimDisk
  readonly #naive = new NaiveService()
  readonly retention: RetentionOracle
  /** Every body ever sent, by cycle. */
  readonly #sent = new Map<string, SentBody[]>()
  /** Canonical request and response of each stored cycle, as of the moment when they reached the disk. */
  readonly #stored = new Map<string, { readonly canonical: string; readonly response: Buffer }>()
  readonly #scored = new Map<number, readonly ScoredRow[]>()

  constructor(disk: SimDisk, limits: RetentionLimits) {
    this.#disk = disk
    this.retention = new RetentionOracle(disk, this.#naive.pool, limits)
  }

  get newestMs(): number {
    return this.#naive.pool.newestMs
  }

  get pendingCount(): number {
    return this.#naive.pool.pendingCount
  }

  get storedIds(): string[] {
    return [...this.#stored.keys()]
  }

  sent(body: SentBody): void {
    const known = this.#sent.get(body.cycleId) ?? []
    if (!known.includes(body)) known.push(body)
    this.#sent.set(body.cycleId, known)
  }

  /** A sent body with the contents of the stored one. */
  bodyOf(cycleId: string): SentBody {
    const { canonical } = this.#stored.get(cycleId) ?? fail(`${cycleId} is not stored`)
    const body = this.#sent.get(cycleId)?.find((sent) => sent.canonical === canonical)
    return body ?? fail(`${cycleId} was never sent`)
  }

  isStored(cycleId: string): boolean {
    return this.#stored.has(cycleId)
  }

  // ---- writes

  cycleStored(position: number, context: StoreContext): void {
    const record = this.#disk.cycleAt(position)
    if (this.#stored.has(record.cycleId)) fail(`${record.cycleId} is stored twice`)
    const json = unpack(record.request)
    const sent =
      this.#sent.get(record.cycleId)?.find((body) => Buffer.compare(body.json, json) === 0) ??
      fail(`the stored request of ${record.cycleId} is not a body that was sent`)
    const response = Buffer.from(record.response)
    this.#stored.set(record.cycleId, { canonical: sent.canonical, response })
    const cycle = JSON.parse(json.toString()) as CycleRequest
    const expected = this.#naive.apply(cycle)
    this.retention.cycleStored(position, record, cycle)
    const parsed = JSON.parse(response.toString()) as CycleResponse
    this.#checkLabels(record, cycle, parsed, context)
    checkCounts(parsed, expected)
    this.#checkRows(position, parsed, expected, context)
  }

  /** An entry that has just been stored, as the last one. */
  weightsStored(entry: WeightsSetting, nowMs: number): void {
    const earlier = this.#disk.weights().slice(0, -1)
    if (earlier.length === 0) return
    const used = earlier.find(({ version }) => version === entry.version)
    same(JSON.stringify((used ?? entry).weights), JSON.stringify(entry.weights), 'weights of a version')
    if (earlier.at(-1)?.version === entry.version) fail(`${entry.version} is current, and is stored again`)
    if (entry.setAtMs > nowMs) fail('weights are set in the future')
    const first = boundaryAfter(entry.setAtMs, this.#naive.pool.newestMs)
    same(entry.firstCycleMs, first, `first cycle of ${entry.version}`)
  }

  shadowStored(position: number, version: string, scores: Uint8Array): void {
    const rows = this.#scored.get(position) ?? fail(`a shadow scored ${position}, which is not stored`)
    const heads = unpackRows(cycleTables.heads, scores)
    const column = (name: 'p_views' | 'p_comments' | 'p_up'): Float32Array =>
      heads[name] ?? fail(`${version} gives no ${name}`)
    same(heads.count, rows.length, `rows that ${version} scored`)
    rows.forEach(({ result, images, title }, i) => {
      same(
        column('p_views')[i],
        Math.fround(viewsShare(version, inputsOf(result))),
        `${version} at ${position}`,
      )
      same(column('p_comments')[i], Math.fround(imagesShare(images)), `images that ${version} counts`)
      const text = column('p_up')[i]
      if (text !== 0) same(text, Math.fround(titleShare(title)), `the text that ${version} reads`)
    })
  }

  // ---- responses

  /** A 200 to a cycle or to GET. `canonical`: of the body of the call; null for GET. */
  responded(cycleId: string, canonical: string | null, bytes: Uint8Array): void {
    const stored = this.#stored.get(cycleId) ?? fail(`${cycleId} has a response and is not stored`)
    if (Buffer.compare(stored.response, bytes) !== 0)
      fail(`the response of ${cycleId} differs from the stored one`)
    if (canonical !== null && canonical !== stored.canonical)
      fail(`${cycleId} is the response to another body`)
  }

  /** A 409 to a cycle. */
  conflicted(cycleId: string, canonical: string): void {
    const stored = this.#stored.get(cycleId) ?? fail(`${cycleId} gets 409 and is not stored`)
    if (this.retention.isExpired(cycleId)) return
    if (stored.canonical === canonical) fail(`${cycleId} gets 409 for the stored body`)
  }

  /** Checks the whole disk: no stored cycle has changed. */
  checkDisk(): void {
    same(this.#disk.lastPosition, this.#stored.size, 'stored cycles')
    for (let position = this.#disk.firstPosition; position <= this.#disk.lastPosition; position++) {
      const { cycleId, response } = this.#disk.cycleAt(position)
      this.responded(cycleId, null, response)
    }
    this.retention.checkKept()
  }

  // ---- the parts of a response

  #checkLabels(
    record: CycleOnDisk,
    cycle: CycleRequest,
    parsed: CycleResponse,
    { model, arrivedMs }: StoreContext,
  ): void {
    same(parsed.cycle_id, cycle.cycle_id, 'cycle_id')
    same(parsed.cycle_time, cycle.cycle_time, 'cycle_time')
    const weights = weightsFor(this.#disk.weights(), record.cycleAtMs)
    same(parsed.weights_version, weights?.version, 'weights_version')
    same(parsed.model_version, model?.version, 'model_version')
    same(record.modelVersion, parsed.model_version, 'the stored model_version')
    same(record.weightsVersion, parsed.weights_version, 'the stored weights_version')
    const arrived = arrivedMs.map((ms) => new Date(ms).toISOString())
    if (!arrived.includes(parsed.received_at))
      fail(`no call of ${cycle.cycle_id} arrived at ${parsed.received_at}`)
  }

  #checkRows(
    position: number,
    parsed: CycleResponse,
    { results, titles }: ExpectedResponse,
    { model, images }: StoreContext,
  ): void {
    const weights = this.#disk.weights().find(({ version }) => version === parsed.weights_version)?.weights
    const scored: ScoredRow[] = []
    let unread = 0
    parsed.results.forEach((row, i) => {
      const result = results[i] ?? fail('an unexpected row')
      const { post } = result
      same(`${row.gall_id}/${row.post_no}`, post, `post of row ${i}`)
      same(row.status, result.status, `status of ${post}`)
      same(row.reason ?? null, result.reason, `reason of ${post}`)
      if (result.status !== 'scored') {
        same(row.score, null, `score of ${post}`)
        return
      }
      const title = titles.get(post) ?? fail(`${post} is scored and not pending`)
      same(row.scored_at_cycle, parsed.cycle_time, `scored_at_cycle of ${post}`)
      same(
        head(row.p_views),
        Math.fround(viewsShare(parsed.model_version, inputsOf(result))),
        `p_views of ${post}`,
      )
      const count = Math.round(head(row.p_comments) * 64)
      const bounds = images(post)
      if (count < bounds.min || count > bounds.max)
        fail(`${post} has ${bounds.min} to ${bounds.max} images, and is scored with ${count}`)
      if (row.p_up === 0) unread++
      else same(head(row.p_up), Math.fround(titleShare(title)), `p_up of ${post}`)
      if (weights === undefined) return fail('scores by weights that are not stored')
      const sum =
        weights.views * head(row.p_views) +
        weights.comments * head(row.p_comments) +
        weights.up * head(row.p_up)
      if (Math.abs(sum - head(row.score)) > 1e-5) fail(`score of ${post} is ${row.score}, not ${sum}`)
      scored.push({ result, images: count, title })
    })
    this.#scored.set(position, scored)
    if (model?.readsTexts !== true) {
      same(unread, scored.length, 'scored rows without a text')
      return
    }
    const lines = kinds(parsed.warnings).flatMap((line) => textLine.exec(line)?.[1] ?? [])
    const counted = lines.reduce((sum, count) => sum + Number(count), 0)
    same(counted, unread, 'texts that the warnings count')
  }
}

function checkCounts(parsed: CycleResponse, expected: ExpectedResponse): void {
  same(JSON.stringify(sorted(parsed.counts)), JSON.stringify(sorted(expected.counts)), 'counts')
  same(parsed.results.length, expected.results.length, 'rows')
  if (Math.abs(parsed.missing_feature_share - expected.missingFeatureShare) > 1e-9)
    fail(`missing_feature_share is ${parsed.missing_feature_share}, not ${expected.missingFeatureShare}`)
  const lines = kinds(parsed.warnings).filter((line) => !textLine.test(line))
  same(lines.sort().join('\n'), expected.warnings.join('\n'), 'warnings')
}

/** Warnings without the posts that they name. */
function kinds(warnings: readonly string[]): string[] {
  return warnings.map((line) => line.replace(/ \((\d+)\): .*$/, ' ($1)'))
}

function sorted(counts: object): [string, unknown][] {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))
}

function inputsOf({ views, viewsBefore, hits }: NaiveResult): Parameters<typeof viewsShare>[1] {
  return { views: views ?? null, viewsBefore: viewsBefore ?? null, hits: hits ?? null }
}

function head(value: ResultRow['score'] | undefined): number {
  return Math.fround(value ?? NaN)
}

function unpack({ encoding, bytes }: StoredRequest): Buffer {
  if (encoding === 'gzip') return gunzipSync(bytes)
  return encoding === 'zstd' ? zstdDecompressSync(bytes) : Buffer.from(bytes)
}

export function fail(message: string): never {
  throw new Error(message)
}

export function same(found: unknown, expected: unknown, what: string): void {
  if (!Object.is(found, expected)) fail(`${what}: ${String(found)}, expected ${String(expected)}`)
}
