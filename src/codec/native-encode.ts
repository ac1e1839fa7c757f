/**
 * The native encoder: JavaScript makes the head and the texts that rows share, C++ writes the rows. The bytes are those of
 * the reference encoder, which also encodes responses with numbers that C++ does not write (not finite, no post numbers).
 */
import { headNames } from '../contract/index.js'
import { outcomeTexts, responseHead, type ResponseColumns } from './encode-response.js'
import type { NativeAddon, NativeRows, TextTable } from './native-addon.js'

/** Response bytes, or null for a response that the reference has to encode. */
export type NativeEncode = (response: ResponseColumns) => Uint8Array | null

const rowsEnd = Buffer.from(']}')

export function createNativeEncode(addon: NativeAddon): NativeEncode {
  const outcomes = textTable(outcomeTexts)
  const galleryTexts = new GalleryTexts()
  return (response) => {
    const { results } = response
    const rows = nativeRows(response, outcomes, galleryTexts.tableOf(results.galleries))
    const rowsBytes = addon.rowsBytesMax(rows)
    if (rowsBytes === 0) return null
    const head = responseHead(response)
    // The upper bound: pages that are not written take no memory.
    const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(head) + rowsBytes + rowsEnd.length)
    const rowsStart = bytes.write(head)
    const end = addon.writeRows(rows, bytes, rowsStart)
    bytes.set(rowsEnd, end)
    return bytes.subarray(0, end + rowsEnd.length)
  }
}

function nativeRows(
  { results, cycleTime }: ResponseColumns,
  outcomes: TextTable,
  keys: TextTable,
): NativeRows {
  const heads = headNames.flatMap((name) => {
    const values = results.heads[name]
    return values === null ? [] : [{ label: `,"${name}":`, values }]
  })
  return {
    count: results.count,
    key: results.gallery,
    number: results.postNo,
    outcome: results.outcome,
    keys,
    outcomes,
    labels: textTable([
      ...heads.map((head) => head.label),
      `,"scored_at_cycle":${JSON.stringify(cycleTime)}}`,
    ]),
    values: [results.score, ...heads.map((head) => head.values)],
  }
}

/** Texts of gallery ids, cached: the galleries of two cycles are mostly the same. */
class GalleryTexts {
  #ids: readonly string[] = []
  #table = textTable([])

  tableOf(ids: readonly string[]): TextTable {
    const same = ids.length === this.#ids.length && ids.every((id, index) => id === this.#ids[index])
    if (!same) {
      this.#ids = [...ids]
      this.#table = textTable(ids.map((id) => `{"gall_id":${JSON.stringify(id)},"post_no":`))
    }
    return this.#table
  }
}

/** Native code copies texts in steps of this many bytes (`text_step_bytes` in native/response_rows.h). */
const padding = ' '.repeat(16)

function textTable(texts: readonly string[]): TextTable {
  let end = 0
  const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)))
  return { bytes: Buffer.from(texts.join('') + padding), ends }
}
