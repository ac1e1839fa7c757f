/**
 * What the server does for each operation of the contract's table. A handler reads the request's body, calls the service,
 * and returns a response. Errors are thrown as `ServiceError`; `request-handler.ts` turns them into responses.
 */
import { type Log, memoizeLast, nextTurn, Semaphore, sha256Of } from '../base/index.js'
import { runBodyTask } from '../codec/index.js'
import {
  cycleIdPattern,
  formatInstant,
  gzipBodyBytesMax,
  imageBytesMax,
  jsonBodyBytesMax,
  ServiceError,
  type Health,
  type ImageStored,
  type OperationId,
  type WeightsAck,
} from '../contract/index.js'
import { RequestBody, type CycleService } from '../cycle/index.js'
import { checkMediaType } from '../images/index.js'
import type { Model } from '../model/index.js'
import { StoreError, type Store } from '../store/index.js'
import type { BodyReading } from './body.js'
import { CycleLog } from './cycle-log.js'
import type { Exchange, OutgoingResponse } from './exchange.js'
import { decodeSegment, imageKeyIn, parseImageKey } from './image-path.js'
import type { ImageUploads } from './image-uploads.js'
import { decodeBody, type JsonBody } from './json-body.js'
import { checkImageHeaders, checkJsonHeaders } from './request-headers.js'
import { throwUnavailable } from './store-errors.js'
import type { Settings } from '../settings/index.js'

/** What the operations use. */
export interface OperationParts {
  readonly cycles: CycleService
  readonly images: ImageUploads
  readonly store: Store
  readonly model: () => Model | null
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** The settings in force. */
  readonly settings: () => Settings
  readonly log: Log
}

/** One request for an operation. */
interface OperationCall {
  readonly parts: OperationParts
  readonly exchange: Exchange
  /** The raw path segments of the names in braces, in order. */
  readonly parameters: readonly string[]
}

/** Must not wait before it reads the body. */
type Handle = (call: OperationCall) => Promise<OutgoingResponse> | OutgoingResponse

export const handlers: Readonly<Record<OperationId, Handle>> = {
  postCycle,
  getScores,
  putImage,
  getHealth,
  postOutcomes,
  getWeights,
  putWeights,
}

async function postCycle({
  exchange,
  parts: { cycles, settings, log },
}: OperationCall): Promise<OutgoingResponse> {
  const stages = new CycleLog(exchange.startedAt, log)
  exchange.stages = stages
  const isGzip = isGzipped(exchange)
  const reading = cycleReading(exchange, isGzip, cycles)
  const arrived = await readArrived(exchange, isGzip, settings().bodyReadMsMax, reading)
  const repeated = cycles.intake.repeatedBefore(arrived, isGzip)
  let response: Uint8Array
  if (repeated === undefined) {
    const body = await decodeBody(exchange, isGzip, arrived)
    const request = new RequestBody(body.json, body.gzip)
    stages.received(request.peekedId)
    response = await cycles.intake.submit(request, exchange.receivedAtMs, stages, exchange.signal)
  } else {
    stages.received(repeated.cycle.cycleId)
    ;({ response } = repeated)
  }
  const timing = exchange.wantsTiming ? { 'Server-Timing': stages.toHeader() } : {}
  return { status: 200, headers: { ...jsonHeaders, ...timing }, body: response }
}

function getScores(call: OperationCall): OutgoingResponse | Promise<OutgoingResponse> {
  const { cycles } = call.parts
  const [segment = ''] = call.parameters
  const cycleId = decodeSegment(segment) ?? ''
  if (!cycleIdPattern.test(cycleId)) throw new ServiceError({ code: 'invalid_cycle_id' })
  const response = cycles.intake.responseInMemory(cycleId)
  if (response === undefined) throw new ServiceError({ code: 'unknown_cycle', cycle_id: cycleId })
  return response === null ? readScores(call, cycleId) : jsonBytes(200, response)
}

async function readScores(
  { exchange, parts: { cycles } }: OperationCall,
  cycleId: string,
): Promise<OutgoingResponse> {
  // `send` would miss the end of a request body that arrives meanwhile.
  if (!exchange.body.isComplete) return jsonBytes(200, cycles.intake.response(cycleId))
  return readTurns.run(async () => {
    await nextTurn()
    exchange.signal.throwIfAborted()
    return jsonBytes(200, cycles.intake.response(cycleId))
  }, exchange.signal)
}

/** To read a large response from the store takes milliseconds: each has a separate turn of the event loop. */
const readTurns = new Semaphore(1)

async function putImage({ exchange, parameters, parts }: OperationCall): Promise<OutgoingResponse> {
  const { images, settings } = parts
  const { contentType, contentEncoding, contentLength, contentSha256 } = exchange.headers
  checkImageHeaders(contentType, contentEncoding)
  images.refuseIfFull(Number(contentLength), () => imageKeyIn(parameters))
  const bytes = await exchange.body.read(imageBytesMax, settings().bodyReadMsMax, {
    known: images.repeatedBytes(Number(contentLength)),
  })
  checkMediaType(bytes)
  const key = parseImageKey(parameters, contentSha256)
  const hash = images.repeatedHash(bytes) ?? (await sha256Of(bytes))
  const { created, sha256 } = await images.put(key, { bytes, hash }, contentSha256, exchange.signal)
  const position = String(key.position).padStart(2, '0')
  const stored: ImageStored = {
    key: `${key.gallId}/${key.postNo}/${position}.jpg`,
    sha256,
    bytes: bytes.length,
  }
  return json(created ? 201 : 200, stored)
}

/** Thousands of calls in a millisecond have the same time. */
const timeText = memoizeLast(formatInstant)

function getHealth({ parts: { cycles, model, clock } }: OperationCall): OutgoingResponse {
  const last = lastCycleOf(cycles)
  const health: Health = {
    status: cycles.problems().length === 0 ? 'ok' : 'degraded',
    time: timeText(clock()),
    api_version: '1',
    model_version: model()?.version ?? 'none',
    weights_version: cycles.weights.inForceAt(clock()).version,
    last_cycle_id: last?.cycleId ?? null,
    last_cycle_received_at: last?.receivedAt ?? null,
  }
  return json(200, health)
}

async function postOutcomes({ exchange, parts }: OperationCall): Promise<OutgoingResponse> {
  const { store, clock, settings } = parts
  const body = await readJson(exchange, settings().bodyReadMsMax)
  const outcomes = await runBodyTask('outcomes', [body.json], { signal: exchange.signal })
  const arrivedAtMs = clock()
  const entries = outcomes.map(({ placementId, json }) => ({
    placementId,
    record: Buffer.from(json),
    arrivedAtMs,
  }))
  const { created, updated } = await store.putOutcomes(entries).catch(throwUnavailable)
  return json(200, { received: entries.length, created, updated })
}

function getWeights({ parts: { cycles } }: OperationCall): OutgoingResponse {
  return json(200, cycles.weights.state())
}

async function putWeights({
  exchange,
  parts: { cycles, settings },
}: OperationCall): Promise<OutgoingResponse> {
  const body = await readJson(exchange, settings().bodyReadMsMax)
  const {
    version,
    weights,
    note = '',
  } = await runBodyTask('weights', [body.json], { signal: exchange.signal })
  const setting = await cycles.setWeights({ version, weights, note }, exchange.signal)
  const ack: WeightsAck = {
    version: setting.version,
    first_cycle_time: formatInstant(setting.firstCycleMs),
  }
  return json(200, ack)
}

/** Headers of every response with a JSON body. */
export const jsonHeaders = { 'Content-Type': 'application/json; charset=utf-8' } as const

/** The cycle that was stored last. Also undefined if storage cannot be read: health is then `degraded`, and still a response. */
export function lastCycleOf(cycles: CycleService): ReturnType<CycleService['lastCycle']> {
  try {
    return cycles.lastCycle()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** Refuses the body of a cycle at its first bytes if the cycle would not be admitted. */
function cycleReading(exchange: Exchange, isGzip: boolean, cycles: CycleService): BodyReading {
  const { contentLength } = exchange.headers
  const bytesMax = !isGzip && contentLength !== '' ? Number(contentLength) : Infinity
  return {
    known: cycles.intake.repeatedBytes(Number(contentLength)),
    // The cycle_id cannot be read from compressed bytes.
    onStart: (bytes) => cycles.intake.admit(isGzip ? noBytes : bytes, bytesMax),
  }
}

const noBytes = new Uint8Array()

async function readJson(exchange: Exchange, timeMsMax: number): Promise<JsonBody> {
  const isGzip = isGzipped(exchange)
  return decodeBody(exchange, isGzip, await readArrived(exchange, isGzip, timeMsMax))
}

/** A JSON body as it arrives. */
function readArrived(
  { body }: Exchange,
  isGzip: boolean,
  timeMsMax: number,
  reading?: BodyReading,
): Promise<Uint8Array> {
  return body.read(isGzip ? gzipBodyBytesMax : jsonBodyBytesMax, timeMsMax, reading)
}

/** Whether a JSON body is compressed. Throws `unsupported_media_type`. */
function isGzipped({ headers: { contentType, contentEncoding } }: Exchange): boolean {
  return checkJsonHeaders(contentType, contentEncoding)
}

function json(status: number, value: unknown): OutgoingResponse {
  return jsonBytes(status, Buffer.from(JSON.stringify(value)))
}

function jsonBytes(status: number, body: Uint8Array): OutgoingResponse {
  return { status, headers: jsonHeaders, body }
}
