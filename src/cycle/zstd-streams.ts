/**
 * Frames by the zstd streams of Node, in its thread pool. The streams live from body to body, and so does the memory into
 * which they write: a stream, an output buffer and a copy of it for each body cost more collections of garbage than all
 * else of a cycle together.
 */
import { constants, ZstdCompress, type ZstdOptions } from 'node:zlib'
import { wakePoolElsewhere } from '../codec/index.js'

/** Frames are cut out of buffers of this size. That of 5 MB takes a fifth of one. */
const outputBytes = 2 * 1024 * 1024
/** Bodies are mostly compressed one at a time. */
const idleMax = 2

export class ZstdStreams {
  readonly #options: ZstdOptions
  readonly #idle: ZstdCompress[] = []

  constructor(parameters: Readonly<Record<number, number>>) {
    this.#options = { chunkSize: outputBytes, params: parameters }
  }

  /** A frame that holds `bytes`, which must stay as they are until then. */
  async compress(bytes: Uint8Array): Promise<Uint8Array> {
    const stream = this.#idle.pop() ?? new ZstdCompress(this.#options)
    try {
      const frame = await compressWith(stream, bytes)
      if (this.#idle.length < idleMax) this.#idle.push(stream)
      else stream.destroy()
      return frame
    } catch (error) {
      stream.destroy()
      throw error
    }
  }
}

function compressWith(stream: ZstdCompress, bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    const collect = (piece: Buffer): void => void pieces.push(piece)
    const stop = (): void => void stream.off('data', collect).off('error', fail)
    const fail = (error: Error): void => {
      stop()
      reject(error)
    }
    stream.on('data', collect).once('error', fail)
    wakePoolElsewhere(() => stream.write(bytes))
    stream.flush(constants.ZSTD_e_end, () => {
      stop()
      resolve(join(pieces))
    })
  })
}

/** The pieces as one. They mostly stand one behind the other, as the stream wrote them. */
function join(pieces: readonly Buffer[]): Uint8Array {
  const [first] = pieces
  if (first === undefined) return new Uint8Array(0)
  let end = first.byteOffset
  for (const piece of pieces) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== end) return Buffer.concat(pieces)
    end += piece.length
  }
  return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset)
}
