/**
 * A batch of an encoder in messages. The request holds the items, one after the other, and their lengths in its header;
 * the reply holds the vectors [items, dim], float32 and row-major, followed by one byte an item: 1 if it is encoded.
 */
import type { Vectors } from '../model.js'
import type { ChildFormat, OwnerFormat } from './messages.js'

export interface EncoderRequest {
  /** Texts: the raw JSON object of a candidate each. Images: a normalised JPEG each. */
  readonly items: readonly Uint8Array[]
  /** Texts that are not encoded by then are left out; null: there is no such bound. */
  readonly budgetMs: number | null
}

interface RequestHeader {
  readonly kind: 'batch'
  readonly lengths: readonly number[]
  readonly budgetMs: number | null
}

interface ReplyHeader {
  readonly kind: 'done'
  readonly count: number
}

export const encoderOwnerFormat: OwnerFormat<EncoderRequest, Vectors> = {
  encodeRequest({ items, budgetMs }) {
    const lengths = items.map(({ length }) => length)
    const header: RequestHeader = { kind: 'batch', lengths, budgetMs }
    return {
      header,
      payloadBytes: lengths.reduce((sum, length) => sum + length, 0),
      write: (payload) => {
        let at = 0
        for (const item of items) {
          payload.set(item, at)
          at += item.length
        }
      },
    }
  },
  decodeReply({ header, payload }) {
    const { count } = header as ReplyHeader
    const vectorBytes = payload.length - count
    return {
      vectors: new Float32Array(
        payload.buffer,
        payload.byteOffset,
        vectorBytes / Float32Array.BYTES_PER_ELEMENT,
      ),
      encoded: payload.subarray(vectorBytes),
    }
  },
}

export const encoderChildFormat: ChildFormat<EncoderRequest, Vectors> = {
  decodeRequest({ header, payload }) {
    const { lengths, budgetMs } = header as RequestHeader
    let at = 0
    return { items: lengths.map((length) => payload.subarray(at, (at += length))), budgetMs }
  },
  encodeReply({ vectors, encoded }) {
    const header: ReplyHeader = { kind: 'done', count: encoded.length }
    return {
      header,
      payloadBytes: vectors.byteLength + encoded.length,
      write: (payload) => {
        payload.set(new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength))
        payload.set(encoded, vectors.byteLength)
      },
    }
  },
}
