/**
 * The compiled addon: its types, and where it is loaded from. `scripts/build-native.mjs` builds it; without it the
 * service runs on the reference codec.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { ColumnProgram, RunProgram } from './column-program.js'
import type { PackColumns } from './pack.js'

/** What a decode found beside its columns. */
export interface NativeFindings {
  /** Rows of each object of the plan. */
  readonly rowCounts: readonly number[]
  /** Members of the body in their order, as positions in the plan. */
  readonly memberOrder: readonly number[]
  /** Distinct keys in order of first appearance; key columns index them. */
  readonly keys: readonly string[]
  /** Names of unknown members, object by object. */
  readonly unknownNames: readonly (readonly string[])[]
}

export interface NativeDecoder {
  /**
   * Fills the columns, whose byte offsets in `arena` are `starts`. Returns findings; or row counts when a list needs
   * more room than its capacity; or a code (`errorSentences`) when the reference decoder has to decide.
   */
  decode(
    body: Uint8Array,
    arena: ArrayBuffer,
    starts: Uint32Array,
    capacities: Uint32Array,
  ): NativeFindings | readonly number[] | number
}

/** Texts laid end to end, with 16 bytes more behind them; text i ends at `ends[i]`. */
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
  /** What follows each column of `values`: the label of the next, behind the last the end of the row. */
  readonly labels: TextTable
  readonly values: readonly Float32Array[]
}

export interface NativeAddon {
  readonly Decoder: new (plan: string) => NativeDecoder
  /** Runs as `RunProgram` says. Throws a TypeError for a program whose parts do not fit together. */
  readonly ColumnProgram: new (program: ColumnProgram) => { readonly run: RunProgram }
  /** Bytes that suffice for the rows; 0: numbers that native code leaves to the reference encoder. */
  rowsBytesMax(rows: NativeRows): number
  /** Writes the rows at `start` of `out` and returns where they end. */
  writeRows(rows: NativeRows, out: Uint8Array, start: number): number
  /** Throws where a column has fewer rows, or where there is no room for the widest form of all of them. */
  readonly packColumns: PackColumns
  readonly errorSentences: readonly string[]
  readonly columnOperations: readonly string[]
  readonly textMeasureNames: readonly string[]
  readonly bodyPaddingBytes: number
}

/** Loads the addon; throws what Node says when it is not there or does not fit. */
export function loadAddon(): NativeAddon {
  // dist/codec and src/codec are equally far from the root, where node-gyp builds.
  const path = fileURLToPath(new URL('../../build/Release/understudy_codec.node', import.meta.url))
  return createRequire(import.meta.url)(path) as NativeAddon
}
