/**
 * Keys of the database. LMDB takes keys of 1 to 1978 bytes and sorts them as bytes, while a `gall_id` or a
 * `placement_id` has up to 4096 bytes: a key has the first 16 bytes of their SHA-256, over their JSON text in UTF-8,
 * so that half of a surrogate pair has a hash of its own too. The record holds the whole name.
 *
 *   cycle id        13 bytes   ASCII, YYYYMMDDTHHMM
 *   image           32 bytes   hash of gall_id [16] · post_no [8, big endian] · position [8, big endian]
 *   image use       64 bytes   SHA-256 of the upload [32] · image key [32]
 *   placement       16 bytes   hash of placement_id
 *   embedding       17 - 48    first half of the encoder's hash [16] · what it encoded
 *   shadow score    20 bytes   position [4, big endian] · hash of model_version [16]
 *   model version   16 bytes   hash of model_version
 *   weight version  16 bytes   hash of version
 *   weight time      8 bytes   2^63 − first_cycle_time in ms, big endian: the last time is first
 *   all others       4 bytes   an unsigned 32-bit number, in LMDB's own integer order
 */
import { hash } from 'node:crypto'
import { memoizeLast, viewOf } from '../../base/index.js'
import { cycleIdPattern } from '../../contract/index.js'
import type { ImageKey } from '../store.js'

const nameHashBytes = 16
const imageKeyBytes = nameHashBytes + 8 + 8
/** The keys of an encoder's embeddings begin with this many bytes of its hash. */
export const encoderKeyBytes = 16

/** Undefined for a string that is not a cycle id: nothing is stored under it. */
export function cycleIdKey(cycleId: string): Uint8Array | undefined {
  return cycleIdPattern.test(cycleId) ? Buffer.from(cycleId, 'latin1') : undefined
}

/** Images of one post usually arrive one after the other. */
const galleryHash = memoizeLast(nameHash)

export function imageKeyOf(key: ImageKey): Uint8Array {
  const bytes = new Uint8Array(imageKeyBytes)
  bytes.set(galleryHash(key.gallId))
  const view = viewOf(bytes)
  view.setBigUint64(nameHashBytes, BigInt(key.postNo))
  view.setBigUint64(nameHashBytes + 8, BigInt(key.position))
  return bytes
}

/** The numbers of an image key; the name is in the record. */
export function imageNumbersOf(key: Uint8Array): { postNo: number; position: number } {
  const view = viewOf(key)
  return {
    postNo: Number(view.getBigUint64(nameHashBytes)),
    position: Number(view.getBigUint64(nameHashBytes + 8)),
  }
}

export function imageUseKeyOf(sha256: Uint8Array, imageKey: Uint8Array): Uint8Array {
  return Buffer.concat([sha256, imageKey])
}

export function imageUseOf(key: Uint8Array): { sha256: Uint8Array; imageKey: Uint8Array } {
  const end = key.length - imageKeyBytes
  return { sha256: key.subarray(0, end), imageKey: key.subarray(end) }
}

export function embeddingKeyOf(encoder: string, key: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(encoder, 'hex').subarray(0, encoderKeyBytes), key])
}

export function shadowKeyOf(position: number, modelVersion: string): Uint8Array {
  const key = new Uint8Array(4 + nameHashBytes)
  viewOf(key).setUint32(0, position)
  key.set(nameHash(modelVersion), 4)
  return key
}

/** All keys of shadow scores at a position: from the first key up to the second, which is not one of them. */
export function shadowKeyRange(position: number): [start: Uint8Array, end: Uint8Array] {
  const [start, end] = [new Uint8Array(4), new Uint8Array(4)]
  viewOf(start).setUint32(0, position)
  viewOf(end).setUint32(0, position + 1)
  return [start, end]
}

/** The key of a placement, and of a model version. */
export function nameHash(name: string): Uint8Array {
  return hash('sha256', JSON.stringify(name), 'buffer').subarray(0, nameHashBytes)
}
