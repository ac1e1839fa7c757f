/**
 * The native encoder: JavaScript makes the head and the texts that rows share, C++ writes the rows. The bytes are those of
 * the reference encoder, which also encodes responses with numbers that C++ does not write (not finite, no post numbers).
 */
import { galleryTexts, outcomeTexts, responseHead, scoredColumns, type ResponseColumns } from './encode-response.js'
import type { NativeAddon, NativeRows, TextTable } from './native-addon.js'

/** Response bytes, or null for a response that the reference has to encode. */
export type NativeEncode = (response: ResponseColumns) => Uint8Array | null

const rowsEnd = ']}'

export function createNativeEncode(addon: NativeAddon): NativeEncode {
  const outcomes = textTable(outcomeTexts)
  return (response) => {
    const head = responseHead(response)
    const rows = nativeRows(response, outcomes)
    const encoded = addon.encodeRows(rows, Buffer.byteLength(head), rowsEnd.length)
    if (encoded === null) return null
    const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)
    bytes.write(head)
    bytes.write(rowsEnd, bytes.length - rowsEnd.length)
    return bytes
  }
}

function nativeRows(response: ResponseColumns, outcomes: TextTable): NativeRows {
  const { results } = response
  const { values, labels } = scoredColumns(response)
  return {
    count: results.count,
    key: results.gallery,
    number: results.postNo,
    outcome: results.outcome,
    keys: textTable(galleryTexts(results.galleries)),
    outcomes,
    labels: textTable(labels),
    values,
  }
}

/** Native code copies texts in steps of this many bytes (`text_step_bytes` in native/response_rows.h). */
const padding = ' '.repeat(16)

function textTable(texts: readonly string[]): TextTable {
  let end = 0
  const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)))
  return { bytes: Buffer.from(texts.join('') + padding), ends }
}
