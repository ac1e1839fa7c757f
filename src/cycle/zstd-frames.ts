/**
 * Bodies compressed off the event loop, one zstd frame each: by threads of the native codec, or by the streams of Node
 * where that codec does not serve, no thread is to be had, or all are busy. What they write into is used again.
 */
import { constants } from 'node:zlib'
import { frameBytesMax, type FrameCompressor, type StartFrameCompressor } from '../codec/index.js'
import { ZstdStreams } from './zstd-streams.js'

/**
 * Compression is beside the way of a cycle: speed counts for more than the last tenth of size. What a body repeats, it
 * repeats soon, and tables that fit into a core's first cache are a fifth faster than those of the level.
 */
const parameters = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
}
/** Bodies are mostly compressed one at a time. More at once than this go to the streams, so that none waits for others. */
const compressorsMax = 2
/** Targets that wait for a body. Of one, only what frames were written to takes memory. */
const targetsMax = 2
/** Bodies of one kind differ by less: a target is mostly long enough for the next one. */
const targetStepBytes = 1024 * 1024

export class ZstdFrames {
  readonly #streams = new ZstdStreams(parameters)
  readonly #start: StartFrameCompressor | null
  readonly #idle: FrameCompressor[] = []
  #compressorCount = 0
  readonly #targets: Uint8Array[] = []
  /** Frames that stand in a target. */
  readonly #lent = new WeakSet<Uint8Array>()

  constructor(start: StartFrameCompressor | null) {
    this.#start = start
  }

  /** A frame that holds `bytes`, which must stay as they are until then. */
  async compress(bytes: Uint8Array): Promise<Uint8Array> {
    const compressor = this.#compressor()
    if (compressor === null) return this.#streams.compress(bytes)
    try {
      const target = this.#target(frameBytesMax(bytes.length))
      const frame = target.subarray(0, await compressor.compress(bytes, target))
      this.#lent.add(frame)
      return frame
    } finally {
      this.#idle.push(compressor)
    }
  }

  /** Takes back a frame of `compress` that no one reads any more: its memory then serves another. */
  giveBack(frame: Uint8Array): void {
    if (!this.#lent.delete(frame)) return
    const target = new Uint8Array(frame.buffer)
    this.#targets.push(target)
    if (this.#targets.length > targetsMax) this.#targets.shift()
  }

  #compressor(): FrameCompressor | null {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    if (this.#start === null || this.#compressorCount === compressorsMax) return null
    try {
      const started = this.#start(parameters)
      this.#compressorCount++
      return started
    } catch {
      // The system has no thread to spare just now. The pool has its own.
      return null
    }
  }

  /** The last one that came back: what is left of its frame is still in the processor's caches. */
  #target(bytes: number): Uint8Array {
    const kept = this.#targets.pop()
    if (kept !== undefined && kept.length >= bytes) return kept
    // Not zeroed, so that pages which no frame reaches are never touched.
    return Buffer.allocUnsafeSlow(Math.ceil(bytes / targetStepBytes) * targetStepBytes)
  }
}
