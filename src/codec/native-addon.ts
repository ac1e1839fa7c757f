/**
 * The compiled addon: its types, and where it is loaded from. `scripts/build-native.mjs` builds it; without it the
 * service runs on the reference codec.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { cycleShape } from '../contract/index.js'
import type { RunColumns } from './column-program.js'

/** The results of a decode. */
export interface NativeFindings {
  /** Rows of each object of the table: of the body, which is one row, and of its lists. */
  readonly rowCounts: readonly number[]
  /** Members of the body in their order, as indexes into the members of `cycleShape`. */
  readonly memberOrder: readonly number[]
  /** Distinct keys in order of first appearance; key columns index them. */
  readonly keys: readonly string[]
  /** Texts that are measured without markup, in their order in the body. */
  readonly texts: readonly string[]
  /**
   * For each object the text of a JSON array: its rows that have members which the table lacks, with only these members; ''
   * without such a row. Not checked to be JSON. Absent: no row has any.
   */
  readonly unknown?: readonly string[]
  /** The columns in the order of `decodeColumns`, each from a multiple of 8 bytes on. */
  readonly block: Uint8Array<ArrayBuffer>
}

/** A column of the table (native/decode_table.h). */
export interface DecodeColumn {
  /** Index of the object whose rows it has. */
  readonly object: number
  /** Bytes of an entry: 8 for a float64, 4 for a uint32, 1 for a uint8. */
  readonly bytes: number
  /** A name, or a group and a name in it, such as `title.chars`. */
  readonly name: string
}

export interface NativeDecoder {
  /**
   * Returns null for a body that the reference decoder has to examine. Throws a RangeError for one without padding
   * (`bodyPaddingBytes`).
   */
  decode(body: Uint8Array): NativeFindings | null
}

/** Concatenated texts, with 16 more bytes after them; text i ends at `ends[i]`. */
export interface TextTable {
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
}

/** Rows to write: `keys[key] number outcomes[outcome]`; for outcome 0 then its values with their labels between. */
export interface NativeRows {
  readonly count: number
  readonly key: Uint32Array
  readonly number: Float64Array
  readonly outcome: Uint8Array
  readonly keys: TextTable
  readonly outcomes: TextTable
  /** The string after each column of `values`: the label of the next column, and for the last the end of the row. */
  readonly labels: TextTable
  readonly values: readonly Float32Array[]
}

/** RGB, three bytes per pixel, row by row. */
export interface RgbPixels {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

/** Where the pixels of a resized row or column come from. */
export interface LineWeights {
  /** Pixels of the result. */
  readonly count: number
  /** The first source pixel of each pixel of the result, and the number of them. */
  readonly starts: Int32Array
  readonly lengths: Int32Array
  /** Weights of each pixel of the result, at multiples of `weightsMax`. */
  readonly weights: Int32Array
  readonly weightsMax: number
}

/**
 * Resizes an image: the weighted means of its pixels, along the rows and then along the columns. Throws a RangeError for source
 * pixels that the image does not have.
 */
export type WeightedMeans = (image: RgbPixels, columns: LineWeights, rows: LineWeights) => Uint8Array

/** Increment here and in native/addon.cc with every change of `NativeAddon`, so that an older addon is not loaded. */
const interfaceVersion = 9

/** Identifies the contract that the native decoder's table must have been generated from. */
export const shapeHash = createHash('sha256').update(JSON.stringify(cycleShape)).digest('hex')

export interface NativeAddon {
  readonly interfaceVersion: number
  readonly shapeHash: string
  readonly decodeColumns: readonly DecodeColumn[]
  readonly Decoder: new () => NativeDecoder
  readonly runColumns: RunColumns
  /**
   * The rows in a separate buffer, with `before` and `after` undefined bytes around them. Throws a RangeError for
   * numbers that JSON does not have, and for columns that do not match.
   */
  encodeRows(rows: NativeRows, before: number, after: number): Uint8Array<ArrayBuffer>
  readonly columnOperations: readonly string[]
  readonly textMeasureNames: readonly string[]
  /** Only src/base uses it. */
  readonly closeOnExec: () => void
  /** Only src/base uses it. */
  readonly endProcess: (code: number) => never
  /** Only src/model/image uses it. */
  readonly weightedMeans: WeightedMeans
  readonly bodyPaddingBytes: number
}

/** Loads the addon. Throws when it is missing, cannot be loaded, or was built from other sources. */
export function loadAddon(): NativeAddon {
  // dist/codec and src/codec are equally far from the root, where node-gyp builds.
  const path = fileURLToPath(new URL('../../build/Release/understudy_codec.node', import.meta.url))
  const addon = createRequire(import.meta.url)(path) as NativeAddon
  if (addon.interfaceVersion !== interfaceVersion)
    throw new Error('the addon was built from other sources; run node scripts/build-native.mjs')
  return addon
}
