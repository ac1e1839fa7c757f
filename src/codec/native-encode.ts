/**
 * The native encoder: JavaScript makes the head and the texts that rows share, C++ writes the rows. The bytes are those of
 * the reference encoder, but for the spelling of some numbers (native/float_text.h).
 */
import { asBuffer } from './body-buffer.js'
import {
  galleryTexts,
  outcomeTexts,
  responseHead,
  scoredColumns,
  type ResponseColumns,
} from './encode-response.js'
import type { NativeAddon, NativeRows, TextTable } from './native-addon.js'

const rowsEnd = ']}'

export function createNativeEncode(addon: NativeAddon): (response: ResponseColumns) => Uint8Array {
  const outcomes = textTable(outcomeTexts)
  return (response) => {
    const head = responseHead(response)
    const rows = nativeRows(response, outcomes)
    const bytes = asBuffer(addon.encodeRows(rows, Buffer.byteLength(head), rowsEnd.length))
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
