/**
 * zstd frames made by a native thread, which sleeps between bodies: where the addon is there and its Node has zstd for it.
 */
import type { NativeAddon } from './native-addon.js'

export interface FrameCompressor {
  /**
   * Writes the frame of `body` to the front of `target` and resolves to its length. One body at a time. Rejects with
   * what zstd says, as when `target` is too short: one of `frameBytesMax` never is.
   */
  compress(body: Uint8Array, target: Uint8Array): Promise<number>
}

/** Pairs of a `constants.ZSTD_c_…` of node:zlib and its value. */
export type FrameParameters = Readonly<Record<number, number>>

/** Starts a compressor; throws when there is no thread to be had. It ends when it is collected. */
export type StartFrameCompressor = (parameters: FrameParameters) => FrameCompressor

/** How the addon starts one; null where it cannot. */
export function frameCompressorsOf({ FrameCompressor }: NativeAddon): StartFrameCompressor | null {
  if (FrameCompressor === null) return null
  return (parameters) => {
    const pairs = Object.entries(parameters).flatMap(([name, value]) => [Number(name), value])
    const native = new FrameCompressor(Int32Array.from(pairs))
    return {
      compress: (body, target) =>
        new Promise((resolve, reject) => {
          native.begin(body, target, (error, bytes) => {
            if (error === undefined) resolve(bytes)
            else reject(new Error(`zstd: ${error}`))
          })
        }),
    }
  }
}

/** What any body of so many bytes fits into as a frame: ZSTD_COMPRESSBOUND of zstd.h, and a little more. */
export function frameBytesMax(bodyBytes: number): number {
  return bodyBytes + Math.ceil(bodyBytes / 256) + 1024
}
