/**
 * The records of each database as bytes, each in the envelope of envelope.ts; below is the payload of version 1.
 *
 *   cycle        JSON of the labels: cycle_id, cycle_at_ms, received_at, model_version, weights_version
 *   chain        JSON of request_sha256, response_sha256, weights_sha256, model_sha256, hash, expiries (each: ended, through,
 *                hash); its start: of position, hash
 *   cycle id     0-3 position
 *   request      tag 0 identity, 1 gzip, 2 zstd · 0-3 length of the JSON body · 4-7 zero · 8 … the encoded body
 *   response     the JSON body
 *   embedding    the vector, 32-bit floats, little endian
 *   shadow score 0-3 length of the version · model_version as JSON · packed columns, which the store does not look
 *                into
 *   version      identity of a model's files as JSON
 *   record, pool record of a cycle, pool after a cycle: packed columns, which the store does not look into
 *   image        0-3 length of the upload · 4-7 width · 8-11 height · 12-15 arrival, s · 16-47 SHA-256 of the upload ·
 *                48 … gall_id as JSON
 *   image bytes  the normalised JPEG
 *   image use    nothing: its key has everything
 *   weights      JSON of version, weights, note, set_at_ms, first_cycle_ms
 *   outcome      0-3 length of the id · 4-7 second of arrival · placement_id as JSON · the record
 *
 * Numbers are unsigned 32-bit, little endian. JSON is UTF-8 with lone surrogates escaped, as JSON.stringify does it.
 */
import { viewOf } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import type { WeightsSetting } from '../../pool/index.js'
import { openRecord, packHashedRecord, packRecord, type Scratch } from './envelope.js'
import { StoreError } from '../store-error.js'
import type {
  ChainStart,
  CycleHeader,
  Expiry,
  OutcomeEntry,
  Position,
  StoredImage,
  StoredRequest,
} from '../store.js'

const requestEncodings = ['identity', 'gzip', 'zstd'] as const satisfies readonly StoredRequest['encoding'][]
const requestHeadBytes = 8
const imageHeadBytes = 48
const outcomeHeadBytes = 8
const sha256Bytes = 32

// ---- cycles

const headerNames = [
  ['cycleId', 'cycle_id'],
  ['cycleAtMs', 'cycle_at_ms'],
  ['receivedAt', 'received_at'],
  ['modelVersion', 'model_version'],
  ['weightsVersion', 'weights_version'],
] as const satisfies Names<CycleHeader>

/** What the chain has of one cycle, with the expiries that followed it while it was the last one. */
export interface ChainEntry {
  readonly requestSha256: string
  readonly responseSha256: string
  /** Null: the store has no weights of this version. */
  readonly weightsSha256: string | null
  /** Null: the store has no identity of this model version. */
  readonly modelSha256: string | null
  readonly hash: string
  readonly expiries: readonly HashedExpiry[]
}

export interface HashedExpiry extends Expiry {
  readonly hash: string
}

const chainEntryNames = [
  ['requestSha256', 'request_sha256'],
  ['responseSha256', 'response_sha256'],
  ['weightsSha256', 'weights_sha256'],
  ['modelSha256', 'model_sha256'],
  ['hash', 'hash'],
  ['expiries', 'expiries'],
] as const satisfies Names<ChainEntry>

export function packCycle(header: CycleHeader): Uint8Array {
  return packBytes(toNamedJson(header, headerNames))
}

export function readCycle(record: Uint8Array): CycleHeader {
  return fromNamedJson<CycleHeader>(readBytes(record, 'cycle'), headerNames)
}

export function packChainEntry(entry: ChainEntry): Uint8Array {
  return packBytes(toNamedJson(entry, chainEntryNames))
}

export function readChainEntry(record: Uint8Array): ChainEntry {
  return fromNamedJson<ChainEntry>(readBytes(record, 'hashes of a cycle'), chainEntryNames)
}

export function packChainStart(start: ChainStart): Uint8Array {
  return packBytes(toJson(start))
}

export function readChainStart(record: Uint8Array): ChainStart {
  return fromJson(readBytes(record, 'start of the chain')) as ChainStart
}

export function packPosition(position: Position): Uint8Array {
  return packRecord(0, [numbers(position)])
}

export function readPosition(record: Uint8Array): Position {
  return viewOf(openRecord(record, 'cycle id').payload).getUint32(0, true)
}

/** `scratch`: see `packRecord`. */
export function packRequest(request: StoredRequest, scratch?: Scratch): Uint8Array {
  const tag = requestEncodings.indexOf(request.encoding)
  assert(tag >= 0, 'a request has an encoding that can be read back')
  return packRecord(tag, [numbers(request.bodyBytes, 0), request.bytes], scratch)
}

export function readStoredRequest(record: Uint8Array): StoredRequest {
  const { tag, payload } = openRecord(record, 'request')
  const encoding = requestEncodings[tag]
  if (encoding === undefined) throw new StoreError('unusable', `a stored request has unknown encoding ${tag}`)
  const bodyBytes = viewOf(payload).getUint32(0, true)
  return { encoding, bytes: payload.subarray(requestHeadBytes), bodyBytes }
}

/** `sha256`: of the response, as hex digits. `scratch`: see `packRecord`. */
export function packResponse(response: Uint8Array, sha256: string, scratch?: Scratch): Uint8Array {
  return packHashedRecord(0, response, sha256, scratch)
}

/** SHA-256 of a response, as hex digits. */
export function readResponseHash(record: Uint8Array): string {
  const { sha256 } = openRecord(record, 'response')
  if (sha256 === null) throw new StoreError('unusable', 'the stored response has no hash')
  return sha256
}

/** The record of a cycle or an image: bytes that the store does not look into. `scratch`: see `packRecord`. */
export function packBytes(bytes: Uint8Array, scratch?: Scratch): Uint8Array {
  return packRecord(0, [bytes], scratch)
}

export function readBytes(record: Uint8Array, what: string): Uint8Array {
  return openRecord(record, what).payload
}

// ---- images

/** What identifies a stored image, without its bytes. */
export interface ImageIdentity extends Required<Omit<StoredImage, 'normalised'>> {
  readonly gallId: string
}

export function packImageIdentity(image: ImageIdentity): Uint8Array {
  const { uploadedBytes, width, height, arrivedAtMs } = image
  assert(image.sha256.length === sha256Bytes, 'an image is identified by a whole SHA-256')
  const head = numbers(uploadedBytes, width, height, Math.floor(arrivedAtMs / 1000))
  return packRecord(0, [head, image.sha256, toJson(image.gallId)])
}

export function readImageIdentity(record: Uint8Array): ImageIdentity {
  const { payload } = openRecord(record, 'image')
  const view = viewOf(payload)
  return {
    uploadedBytes: view.getUint32(0, true),
    width: view.getUint32(4, true),
    height: view.getUint32(8, true),
    arrivedAtMs: view.getUint32(12, true) * 1000,
    sha256: payload.subarray(imageHeadBytes - sha256Bytes, imageHeadBytes),
    gallId: fromJson(payload.subarray(imageHeadBytes)) as string,
  }
}

// ---- models

export function packVector(vector: Float32Array): Uint8Array {
  return packBytes(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength))
}

export function readVector(record: Uint8Array): Float32Array {
  return new Float32Array(readBytes(record, 'embedding').slice().buffer)
}

export function packShadowScores(modelVersion: string, scores: Uint8Array): Uint8Array {
  const name = toJson(modelVersion)
  return packRecord(0, [numbers(name.byteLength), name, scores])
}

export function readShadowScores(record: Uint8Array): {
  readonly modelVersion: string
  readonly scores: Uint8Array
} {
  const { payload } = openRecord(record, 'shadow scores')
  const end = 4 + viewOf(payload).getUint32(0, true)
  return { modelVersion: fromJson(payload.subarray(4, end)) as string, scores: payload.subarray(end) }
}

export function packText(text: string): Uint8Array {
  return packBytes(toJson(text))
}

export function readText(record: Uint8Array, what: string): string {
  return fromJson(readBytes(record, what)) as string
}

// ---- weights and outcomes

const weightsNames = [
  ['version', 'version'],
  ['weights', 'weights'],
  ['note', 'note'],
  ['setAtMs', 'set_at_ms'],
  ['firstCycleMs', 'first_cycle_ms'],
] as const satisfies Names<WeightsSetting>

export function packWeights(entry: WeightsSetting): Uint8Array {
  return packBytes(toNamedJson({ ...entry, weights: inOrder(entry.weights) }, weightsNames))
}

/** Weights as JSON: equal weights give equal bytes. */
export function weightsJson(weights: WeightsSetting['weights']): Uint8Array {
  return toJson(inOrder(weights))
}

function inOrder({
  views,
  comments,
  up,
  downvote_share,
}: WeightsSetting['weights']): WeightsSetting['weights'] {
  return { views, comments, up, downvote_share }
}

export function readWeights(record: Uint8Array): WeightsSetting {
  return fromNamedJson<WeightsSetting>(readBytes(record, 'weights'), weightsNames)
}

export function packOutcome({ placementId, record, arrivedAtMs }: OutcomeEntry): Uint8Array {
  const id = toJson(placementId)
  return packRecord(0, [numbers(id.byteLength, Math.floor(arrivedAtMs / 1000)), id, record])
}

export function readStoredOutcome(record: Uint8Array): OutcomeEntry {
  const { payload } = openRecord(record, 'outcome')
  const view = viewOf(payload)
  const recordOffset = outcomeHeadBytes + view.getUint32(0, true)
  return {
    placementId: fromJson(payload.subarray(outcomeHeadBytes, recordOffset)) as string,
    record: payload.subarray(recordOffset),
    arrivedAtMs: view.getUint32(4, true) * 1000,
  }
}

// ---- the pieces

function numbers(...values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 4)
  const view = viewOf(bytes)
  values.forEach((value, index) => {
    assert(Number.isInteger(value) && value >= 0 && value < 2 ** 32, 'a number of a record has 32 bits')
    view.setUint32(index * 4, value, true)
  })
  return bytes
}

/** The members of a value and their names in JSON, in the order of the JSON. */
type Names<Value> = readonly (readonly [keyof Value & string, string])[]

function toNamedJson<Value>(value: Value, names: Names<Value>): Uint8Array {
  return toJson(Object.fromEntries(names.map(([member, name]) => [name, value[member]])))
}

function fromNamedJson<Value>(bytes: Uint8Array, names: Names<Value>): Value {
  const json = fromJson(bytes) as Record<string, unknown>
  return Object.fromEntries(names.map(([member, name]) => [member, json[name]])) as Value
}

function toJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value), 'utf8')
}

function fromJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
}
