/**
 * Encoders of texts and of images in one form, for those that encode batches of either, each with an item that every
 * working encoder can encode.
 */
import { channel } from 'node:diagnostics_channel'
import type { ImageEncoder, TextEncoder, Vectors } from '../../model/index.js'

/** Published after each call of an encoder, for the metrics. */
export interface EncodingMessage {
  readonly kind: 'text' | 'image'
  readonly ms: number
  readonly hasFailed: boolean
}
export const encodingChannel = channel('understudy:encoding')

/** An encoder of texts or of images. */
export interface BatchEncoder {
  readonly kind: EncodingMessage['kind']
  readonly hash: string
  readonly dim: number
  /** An item that every working encoder can encode. */
  readonly control: Uint8Array
  /** Time limit of one call in the background: other calls wait no longer. Infinity: a call encodes all its items. */
  readonly callMsMax: number
  /** Items of one call in the background. */
  readonly callCountMax: number
  readonly encode: (items: readonly Uint8Array[], budgetMs: number) => Promise<Vectors>
}

const controlText = Buffer.from(JSON.stringify({ title: '가나다 abc 123.' }))

export function textBatchEncoder(encoder: TextEncoder): BatchEncoder {
  const { hash, dim } = encoder
  return {
    kind: 'text',
    hash,
    dim,
    control: controlText,
    callMsMax: 250,
    callCountMax: 200,
    encode: (records, ms) => encoder.encode(records, ms),
  }
}

/** A grey JPEG of 8 by 8 pixels. */
const controlImage = Buffer.from(
  '/9j/2wBDABAQEBAREBIUFBIZGxgbGSUiHx8iJTgoKygrKDhVNT41NT41VUtbSkVKW0uHal5eaoecg3yDnL2pqb3u4u7/////2wBDARAQEBAREBIU' +
    'FBIZGxgbGSUiHx8iJTgoKygrKDhVNT41NT41VUtbSkVKW0uHal5eaoecg3yDnL2pqb3u4u7/////wgARCAAIAAgDASIAAhEBAxEB/8QAFAABAAAA' +
    'AAAAAAAAAAAAAAAAAP/EABQBAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhADEAAAAAP/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAE/AH//' +
    'xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oACAECAQE/AH//xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oACAEDAQE/AH//2Q==',
  'base64',
)

export function imageBatchEncoder(encoder: ImageEncoder): BatchEncoder {
  const { hash, dim } = encoder
  return {
    kind: 'image',
    hash,
    dim,
    control: controlImage,
    callMsMax: Infinity,
    callCountMax: 8,
    encode: (images) => encoder.encode(images),
  }
}

/** Encodes a batch, and publishes how long that took. */
export async function encodeTimed(
  encoder: BatchEncoder,
  part: readonly Uint8Array[],
  msMax: number,
): Promise<Vectors> {
  const startedAt = performance.now()
  const publish = (hasFailed: boolean): void => {
    const ms = performance.now() - startedAt
    encodingChannel.publish({ kind: encoder.kind, ms, hasFailed } satisfies EncodingMessage)
  }
  try {
    const vectors = await encoder.encode(part, msMax)
    publish(false)
    return vectors
  } catch (error) {
    publish(true)
    throw error
  }
}
