/**
 * What must hold, whatever happens. The oracle looks at the disk alone: each cycle that reaches it is judged at once
 * against the naive model, in the order in which the disk has them; answers are judged against what the disk has.
 */
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { CycleRequest, CycleResponse, ResultRow } from '../../src/contract/index.js'
import { unpackHeads } from '../../src/cycle/shadows.js'
import type { CycleRecord, MemoryContents, StoredRequest, WeightsEntry } from '../../src/store/index.js'
import type { NaiveResult } from '../helpers/naive-pool.js'
import { boundaryAfter, NaiveService, weightsFor, type ExpectedAnswer } from './naive-service.js'
import { imagesShare, titleShare, viewsShare } from './sim-model.js'
import type { SentBody } from './workload.js'

/** What the oracle is told of the moment at which a cycle is stored. */
export interface CycleSurroundings {
  /** Version that serves, and whether it reads texts. */
  readonly model: { readonly version: string; readonly readsTexts: boolean } | null
  /** Times at which calls with this cycle arrived that have no answer yet. */
  readonly arrivedMs: readonly number[]
  /** How many images of a post the cycle may have counted. */
  readonly images: (post: string) => { readonly min: number; readonly max: number }
}

/** What a stored cycle's rows were scored from, for the shadows that score it too. */
interface ScoredRow {
  readonly result: NaiveResult
  readonly images: number
  readonly title: string
}

const textLine = /^text not encoded in time, scored without it \((\d+)\)$/

export class Oracle {
  readonly #contents: MemoryContents
  readonly #naive = new NaiveService()
  /** Every body that was ever sent, by cycle. */
  readonly #sent = new Map<string, SentBody[]>()
  /** Meaning and response of each stored cycle, as they were when they reached the disk. */
  readonly #stored = new Map<string, { readonly meaning: string; readonly response: Buffer }>()
  readonly #scored = new Map<number, readonly ScoredRow[]>()

  constructor(contents: MemoryContents) {
    this.#contents = contents
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

  /** A body that says what the stored one says. */
  bodyOf(cycleId: string): SentBody {
    const { meaning } = this.#stored.get(cycleId) ?? fail(`${cycleId} is not stored`)
    const body = this.#sent.get(cycleId)?.find((sent) => sent.meaning === meaning)
    return body ?? fail(`${cycleId} was never sent`)
  }

  isStored(cycleId: string): boolean {
    return this.#stored.has(cycleId)
  }

  // ---- what reaches the disk

  cycleStored(position: number, surroundings: CycleSurroundings): void {
    const record = this.#contents.cycles[position - 1] ?? fail(`nothing is stored at ${position}`)
    if (this.#stored.has(record.cycleId)) fail(`${record.cycleId} is stored twice`)
    const json = unpack(record.request)
    const sent =
      this.#sent.get(record.cycleId)?.find((body) => Buffer.compare(body.json, json) === 0) ??
      fail(`the stored request of ${record.cycleId} is no body that was sent`)
    const response = Buffer.from(record.response)
    this.#stored.set(record.cycleId, { meaning: sent.meaning, response })
    const cycle = JSON.parse(json.toString()) as CycleRequest
    const expected = this.#naive.apply(cycle)
    const answer = JSON.parse(response.toString()) as CycleResponse
    this.#judgeLabels(record, cycle, answer, surroundings)
    judgeCounts(answer, expected)
    this.#judgeRows(position, answer, expected, surroundings)
  }

  weightsStored(entry: WeightsEntry, nowMs: number): void {
    const earlier = this.#contents.weights.slice(0, -1)
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
    const heads = unpackHeads(scores)
    const column = (name: 'p_views' | 'p_comments' | 'p_up'): Float32Array =>
      heads[name] ?? fail(`${version} gives no ${name}`)
    same(column('p_views').length, rows.length, `rows that ${version} scored`)
    rows.forEach(({ result, images, title }, i) => {
      same(
        column('p_views')[i],
        Math.fround(viewsShare(version, scoredFrom(result))),
        `${version} at ${position}`,
      )
      same(column('p_comments')[i], Math.fround(imagesShare(images)), `images that ${version} counts`)
      const text = column('p_up')[i]
      if (text !== 0) same(text, Math.fround(titleShare(title)), `the text that ${version} reads`)
    })
  }

  // ---- what clients are told

  /** A 200 to a cycle or to GET. `meaning`: of the call's own body; null for GET. */
  answered(cycleId: string, meaning: string | null, bytes: Uint8Array): void {
    const stored = this.#stored.get(cycleId) ?? fail(`${cycleId} is answered and not stored`)
    if (Buffer.compare(stored.response, bytes) !== 0)
      fail(`${cycleId} is answered otherwise than it is stored`)
    if (meaning !== null && meaning !== stored.meaning) fail(`${cycleId} answers another body's call`)
  }

  /** A 409 to a cycle. */
  conflicted(cycleId: string, meaning: string): void {
    const stored = this.#stored.get(cycleId) ?? fail(`${cycleId} conflicts with nothing`)
    if (stored.meaning === meaning) fail(`${cycleId} conflicts with itself`)
  }

  /** The whole disk again: nothing that was stored has changed. */
  judgeDisk(): void {
    same(this.#contents.cycles.length, this.#stored.size, 'stored cycles')
    for (const { cycleId, response } of this.#contents.cycles) this.answered(cycleId, null, response)
  }

  // ---- the parts of a response

  #judgeLabels(
    record: CycleRecord,
    cycle: CycleRequest,
    answer: CycleResponse,
    { model, arrivedMs }: CycleSurroundings,
  ): void {
    same(answer.cycle_id, cycle.cycle_id, 'cycle_id')
    same(answer.cycle_time, cycle.cycle_time, 'cycle_time')
    const weights = weightsFor(this.#contents.weights, record.cycleAtMs)
    same(answer.weights_version, weights?.version, 'weights_version')
    same(answer.model_version, model?.version, 'model_version')
    same(record.modelVersion, answer.model_version, 'the stored model_version')
    same(record.weightsVersion, answer.weights_version, 'the stored weights_version')
    const arrived = arrivedMs.map((ms) => new Date(ms).toISOString())
    if (!arrived.includes(answer.received_at))
      fail(`no call of ${cycle.cycle_id} arrived at ${answer.received_at}`)
  }

  #judgeRows(
    position: number,
    answer: CycleResponse,
    { results, titles }: ExpectedAnswer,
    { model, images }: CycleSurroundings,
  ): void {
    const weights = this.#contents.weights.find(({ version }) => version === answer.weights_version)?.weights
    const scored: ScoredRow[] = []
    let unread = 0
    answer.results.forEach((row, i) => {
      const result = results[i] ?? fail('a row too many')
      const { post } = result
      same(`${row.gall_id}/${row.post_no}`, post, `post of row ${i}`)
      same(row.status, result.status, `status of ${post}`)
      same(row.reason ?? null, result.reason, `reason of ${post}`)
      if (result.status !== 'scored') {
        same(row.score, null, `score of ${post}`)
        return
      }
      const title = titles.get(post) ?? fail(`${post} is scored and not pending`)
      same(row.scored_at_cycle, answer.cycle_time, `scored_at_cycle of ${post}`)
      same(
        head(row.p_views),
        Math.fround(viewsShare(answer.model_version, scoredFrom(result))),
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
      same(unread, scored.length, 'texts that a model without texts reads')
      return
    }
    const lines = kinds(answer.warnings).flatMap((line) => textLine.exec(line)?.[1] ?? [])
    same(Number(lines[0] ?? 0), unread, 'texts that are said to be unread')
  }
}

function judgeCounts(answer: CycleResponse, expected: ExpectedAnswer): void {
  same(JSON.stringify(sorted(answer.counts)), JSON.stringify(sorted(expected.counts)), 'counts')
  same(answer.results.length, expected.results.length, 'rows')
  if (Math.abs(answer.missing_feature_share - expected.missingFeatureShare) > 1e-9)
    fail(`missing_feature_share is ${answer.missing_feature_share}, not ${expected.missingFeatureShare}`)
  const lines = kinds(answer.warnings).filter((line) => !textLine.test(line))
  same(lines.sort().join('\n'), expected.warnings.join('\n'), 'warnings')
}

/** Warnings without the posts that they name. */
function kinds(warnings: readonly string[]): string[] {
  return warnings.map((line) => line.replace(/ \((\d+)\): .*$/, ' ($1)'))
}

function sorted(counts: object): [string, unknown][] {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))
}

function scoredFrom({ views, viewsBefore, hits }: NaiveResult): Parameters<typeof viewsShare>[1] {
  return { views: views ?? null, viewsBefore: viewsBefore ?? null, hits: hits ?? null }
}

function head(value: ResultRow['score'] | undefined): number {
  return Math.fround(value ?? NaN)
}

function unpack({ encoding, bytes }: StoredRequest): Buffer {
  if (encoding === 'gzip') return gunzipSync(bytes)
  return encoding === 'zstd' ? zstdDecompressSync(bytes) : Buffer.from(bytes)
}

/** A promise is broken. */
export function fail(message: string): never {
  throw new Error(message)
}

export function same(found: unknown, wanted: unknown, what: string): void {
  if (!Object.is(found, wanted)) fail(`${what}: ${String(found)}, and not ${String(wanted)}`)
}
