/**
 * CRC-32, as zlib has it: by the addon, with the processor's product of polynomials, or by zlib where that is as fast.
 */
import * as zlib from 'node:zlib'
import { loadAddon, type NativeAddon } from './native-addon.js'

/** Of `bytes`; with `value`, the CRC-32 of other bytes (0: there are none), of those and then these. */
export type Crc32 = (bytes: Uint8Array, value: number) => number

/** Up to this zlib is as fast: V8 has so small an array in its own heap, and would first move it out for the addon. */
const zlibBytesMax = 64

/** undefined: not looked for yet. */
let fastest: Crc32 | undefined

/** The same number on every machine, whichever way it is made. */
export function crc32(bytes: Uint8Array, value = 0): number {
  if (bytes.byteLength <= zlibBytesMax) return zlib.crc32(bytes, value)
  fastest ??= fastestCrc32(loadAddon)
  return fastest(bytes, value)
}

/** An addon of an older version has no list of them, one on another kind of processor an empty one. */
export function fastestCrc32(load: () => Partial<NativeAddon>): Crc32 {
  try {
    return load().crc32Functions?.[0] ?? zlib.crc32
  } catch {
    return zlib.crc32
  }
}
