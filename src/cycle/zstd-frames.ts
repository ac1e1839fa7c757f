/**
 * Bodies compressed in the thread pool, one zstd frame each. The streams live from body to body, and so does the memory
 * into which they write: a stream, an output buffer and a copy of it for each body cost more collections of garbage
 * than all else of a cycle together.
 */
import { constants, ZstdCompress } from 'node:zlib'
import { wakePoolElsewhere } from '../codec/index.js'

/**
 * Compression is beside the way of a cycle: speed counts for more than the last tenth of size. What a body repeats, it
 * repeats soon, and tables that fit into a core's first cache are a fifth faster than those of the level.
 */
const parameters = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
}
/** Frames are cut out of buffers of this size. That of 5 MB takes a fifth of one. */
const outputBytes = 2 * 1024 * 1024
/** Bodies are mostly compressed one at a time. */
const idleMax = 2

export class ZstdFrames {
  readonly #idle: ZstdCompress[] = []

  /** A frame that holds `bytes`, which must stay as they are until then. */
  async compress(bytes: Uint8Array): Promise<Uint8Array> {
    const stream = this.#idle.pop() ?? new ZstdCompress({ chunkSize: outputBytes, params: parameters })
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
