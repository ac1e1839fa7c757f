/**
 * The two codecs. Both give the same columns, bytes and errors; the native one decodes at least 15 times as fast.
 * The reference examines every body that native code refuses, so errors are the same by construction.
 */
import { mebibyte } from '../base/index.js'
import type { CycleColumns } from '../contract/index.js'
import { runBodyTask } from './body-tasks.js'
import { columnOperations, runColumns, type RunColumns } from './column-program.js'
import { decodeCycle } from './decode-cycle.js'
import { encodeResponse, type ResponseColumns } from './encode-response.js'
import type { NativeAddon } from './native-addon.js'
import { createNativeDecode } from './native-decode.js'
import { createNativeEncode } from './native-encode.js'

export interface Codec {
  readonly name: 'native' | 'reference'
  /** Columns of a cycle body; throws `bad_request` as `decodeCycle` does. */
  readonly decodeCycle: (body: Uint8Array) => CycleColumns
  /**
   * Decodes a body from outside. The native codec reads one in a thread (`runBodyTask`) when it is far larger
   * than a full cycle, or large and left to the reference: leave the body unchanged until then. Rejects if
   * `decodeCycle` throws, with `unavailable`, and with the reason of `signal` when that is aborted while the body waits.
   */
  readonly readCycle: (body: Uint8Array, signal?: AbortSignal) => CycleColumns | Promise<CycleColumns>
  /** A response as JSON in UTF-8. */
  readonly encodeResponse: (response: ResponseColumns) => Uint8Array
  readonly runColumns: RunColumns
}

export const referenceCodec: Codec = {
  name: 'reference',
  decodeCycle: (body) => decodeCycle(body),
  // Every body takes the reference decoder here; a thread for each cycle would only slow it down.
  readCycle: (body) => decodeCycle(body),
  encodeResponse,
  runColumns,
}

/** The native codec over a loaded addon. Throws when the addon cannot follow the contract. */
export function nativeCodec(addon: NativeAddon): Codec {
  const decode = createNativeDecode(addon)
  if (addon.columnOperations.join() !== columnOperations.join()) {
    throw new Error('the native codec is out of date; run: node scripts/build-native.mjs')
  }
  return {
    name: 'native',
    decodeCycle(body) {
      return decode(body) ?? decodeCycle(body)
    },
    readCycle(body, signal) {
      if (body.length > nativeBytesMax) return runBodyTask('cycle', [body], { signal })
      return decode(body) ?? runBodyTask('cycle', [body], { signal })
    },
    encodeResponse: createNativeEncode(addon),
    runColumns: (program, inputs, matrix) => addon.runColumns(program, inputs, matrix),
  }
}

/**
 * Larger bodies are decoded in a worker thread; a full cycle is smaller. Native code takes at most about 20 ms of the
 * event loop for any body of this size: `<>` repeated in a text took 18 ms, ASCII and `<a>b` 11, Hangul 6; for 16 MiB of
 * brackets it took 45 ms, and 220 ms with new memory for the index. Parsing the unknown members of a body adds at most 9 ms.
 */
const nativeBytesMax = 8 * mebibyte
