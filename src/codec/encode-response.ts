/**
 * Reference encoder: a cycle's results to the bytes of its response. The same input gives the same bytes; members are in the
 * order of docs/contract.md.
 */
import {
  assert,
  headNames,
  outcomeCodes,
  warningText,
  type Counts,
  type GalleryIds,
  type ResultColumns,
  type Warning,
} from '../contract/index.js'
import { float32Text } from './float32-text.js'

/** A response before it is bytes. */
export interface ResponseColumns {
  readonly cycleId: string
  readonly cycleTime: string
  readonly receivedAt: string
  readonly scoredAt: string
  readonly modelVersion: string
  readonly weightsVersion: string
  readonly counts: Counts
  readonly missingFeatureShare: number
  readonly warnings: readonly Warning[]
  readonly results: ResultColumns
}

/** The response as JSON in UTF-8. */
export function encodeResponse(response: ResponseColumns): Uint8Array {
  return Buffer.from(`${responseHead(response)}${resultRows(response).join(',')}]}`)
}

/** Everything before the first row. */
export function responseHead(response: ResponseColumns): string {
  const head = JSON.stringify({
    cycle_id: response.cycleId,
    cycle_time: response.cycleTime,
    received_at: response.receivedAt,
    scored_at: response.scoredAt,
    model_version: response.modelVersion,
    weights_version: response.weightsVersion,
    counts: response.counts,
    missing_feature_share: response.missingFeatureShare,
    warnings: response.warnings.map(warningText),
  })
  return `${head.slice(0, -1)},"results":[`
}

/** The string after the key of a row, by outcome; for a scored row, the string before its numbers. */
export const outcomeTexts = outcomeCodes.map(({ status, reason }) =>
  status === 'scored'
    ? ',"status":"scored","score":'
    : `,"status":"${status}","score":null${reason === null ? '' : `,"reason":"${reason}"`}}`,
)

/** The string before the post number of a row, by gallery. */
export function galleryTexts(galleries: GalleryIds): string[] {
  return galleries.map((id) => `{"gall_id":${JSON.stringify(id)},"post_no":`)
}

/** The columns of scored rows, and the string after each of them. */
export function scoredColumns({ results, counts, cycleTime }: ResponseColumns): {
  readonly values: readonly Float32Array[]
  readonly labels: readonly string[]
} {
  const names = headNames.filter((name) => results.heads[name] !== null)
  const values = [results.score, ...names.map((name) => results.heads[name] as Float32Array)]
  assert(counts.results === results.count, 'each result is counted')
  assert(
    values.every(({ length }) => length === counts.scored_now),
    'each post that is scored has a value of each head',
  )
  return {
    values,
    labels: [...names.map((name) => `,"${name}":`), `,"scored_at_cycle":${JSON.stringify(cycleTime)}}`],
  }
}

function resultRows(response: ResponseColumns): string[] {
  const { results } = response
  const keys = galleryTexts(results.galleries)
  const { values, labels } = scoredColumns(response)
  const rows = new Array<string>(results.count)
  let scored = 0
  for (let row = 0; row < results.count; row++) {
    const code = results.outcome[row]!
    let text = `${keys[results.gallery[row]!]}${results.postNo[row]}${outcomeTexts[code]}`
    if (code === 0) {
      for (const [i, column] of values.entries()) text += `${float32Text(column[scored]!)}${labels[i]}`
      scored++
    }
    rows[row] = text
  }
  return rows
}
