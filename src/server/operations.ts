/**
 * The seven operations: each reads its body, asks the service, and gives an answer. Errors are thrown as
 * `ServiceError` and worded in one place, `server.ts`.
 */
import { readBody } from '../codec/index.js'
import {
  cycleIdForm,
  formatInstant,
  imageBytesMax,
  ServiceError,
  type Health,
  type WeightsAck,
} from '../contract/index.js'
import type { CycleService, RequestBody } from '../cycle/index.js'
import { checkMediaType } from '../images/index.js'
import type { Model } from '../model/index.js'
import { StoreError, type Store } from '../store/index.js'
import type { Answer, Exchange } from './exchange.js'
import type { BodyOptions } from './incoming-body.js'
import { decodeSegment, parseImageKey } from './image-path.js'
import type { ImageDesk } from './image-desk.js'
import { readJsonBody } from './json-body.js'
import { checkImageHeaders, checkJsonHeaders } from './media-types.js'
import { LoggedStages } from './logged-stages.js'
import { refuseWrites } from './refuse-writes.js'
import type { Operation } from './routes.js'
import type { Settings } from './settings.js'
import { SpareBuffers } from './spare-buffers.js'

export interface OperationParts {
  readonly cycles: CycleService
  readonly images: ImageDesk
  readonly store: Store
  readonly model: () => Model | null
  readonly clock: () => number
  /** In force now. */
  readonly settings: () => Settings
  readonly log: { debug(fields: object, message: string): void }
}

/** What an operation answers; it must not wait before it reads the body. */
type Handler = (
  exchange: Exchange,
  parameters: readonly string[],
  parts: OperationParts,
) => Promise<Answer> | Answer

export const operations: Readonly<Record<Operation, Handler>> = {
  postCycle: async (exchange, _parameters, { cycles, settings, log }) => {
    const stages = new LoggedStages(exchange.startedAt, log)
    exchange.stages = stages
    const body = await readCycle(exchange, settings().bodyReadMsMax, cycles)
    stages.lap('receive')
    const response = await cycles.submit(body, exchange.receivedAtMs, stages)
    const timing = exchange.wantsTiming ? { 'Server-Timing': stages.toHeader() } : {}
    return { status: 200, headers: { ...jsonHeaders, ...timing }, body: response }
  },

  getScores: (_exchange, [segment = ''], { cycles }) => {
    const cycleId = decodeSegment(segment) ?? ''
    if (!cycleIdForm.test(cycleId)) throw new ServiceError('not_found', 'there is no such cycle')
    return jsonBytes(200, cycles.response(cycleId))
  },

  putImage: async (exchange, parameters, { images, settings }) => {
    const { contentType, contentEncoding, contentLength, contentSha256 } = exchange.headers
    checkImageHeaders(contentType, contentEncoding)
    images.refuseIfFull(Number(contentLength))
    const bytes = await exchange.body.read(imageBytesMax, settings().bodyReadMsMax)
    checkMediaType(bytes)
    const key = parseImageKey(parameters, contentSha256)
    const { created, sha256 } = await images.put(key, bytes, contentSha256)
    const position = String(key.position).padStart(2, '0')
    return json(created ? 201 : 200, {
      key: `${key.gallId}/${key.postNo}/${position}.jpg`,
      sha256,
      bytes: bytes.length,
    })
  },

  getHealth: (_exchange, _parameters, { cycles, model, clock }) => {
    const last = lastCycleOf(cycles)
    const health: Health = {
      status: model() !== null && cycles.ready ? 'ok' : 'degraded',
      time: formatInstant(clock()),
      api_version: '1',
      model_version: model()?.version ?? 'none',
      weights_version: cycles.weights.versionAt(clock()),
      last_cycle_id: last?.cycleId ?? null,
      last_cycle_received_at: last?.receivedAt ?? null,
    }
    return json(200, health)
  },

  postOutcomes: async (exchange, _parameters, { store, clock, settings }) => {
    const body = await readJson(exchange, settings().bodyReadMsMax)
    const outcomes = await readBody('outcomes', body.json)
    const arrivedAtMs = clock()
    const entries = outcomes.map((outcome) => ({ ...outcome, arrivedAtMs }))
    const { created, updated } = await store.putOutcomes(entries).catch(refuseWrites)
    return json(200, { received: entries.length, created, updated })
  },

  putWeights: async (exchange, _parameters, { cycles, settings }) => {
    const body = await readJson(exchange, settings().bodyReadMsMax)
    const { version, weights, note = '' } = await readBody('weights', body.json)
    if (weights.views === 0 && weights.comments === 0 && weights.up === 0) {
      throw new ServiceError('unprocessable', 'the weights score nothing', {
        fields: [{ path: 'weights', problem: 'at least one of views, comments, up must be positive' }],
      })
    }
    const setting = await cycles.setWeights({ version, weights, note })
    const ack: WeightsAck = {
      version: setting.version,
      first_cycle_time: formatInstant(setting.firstCycleMs),
    }
    return json(200, ack)
  },

  getWeights: (_exchange, _parameters, { cycles }) => json(200, cycles.weights.state()),
}

/** Headers of every answer with a JSON body. */
export const jsonHeaders = { 'Content-Type': 'application/json; charset=utf-8' } as const

/** Storage that cannot be read makes health degraded; it does not keep it from answering. */
function lastCycleOf(cycles: CycleService): ReturnType<CycleService['lastCycle']> {
  try {
    return cycles.lastCycle()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

/** Bodies come in one after the other, as large as the ones before. */
const spareBodies = new SpareBuffers()

/** The body of a cycle. Refused at its first bytes when the cycle would find no slot. */
function readCycle(exchange: Exchange, timeMsMax: number, cycles: CycleService): Promise<RequestBody> {
  const { contentEncoding, contentLength } = exchange.headers
  const isPlain = contentEncoding === '' || contentEncoding.toLowerCase() === 'identity'
  const bytesMax = isPlain && contentLength !== '' ? Number(contentLength) : Infinity
  return readJson(exchange, timeMsMax, {
    // Compressed bytes show no id.
    onStart: (bytes) => cycles.admit(isPlain ? bytes : noBytes, bytesMax),
  })
}

const noBytes = new Uint8Array()

function readJson(exchange: Exchange, timeMsMax: number, options: BodyOptions = {}): Promise<RequestBody> {
  const { contentType, contentEncoding } = exchange.headers
  const isGzip = checkJsonHeaders(contentType, contentEncoding)
  return readJsonBody(exchange, isGzip, timeMsMax, { spare: spareBodies, ...options })
}

function json(status: number, value: unknown): Answer {
  return jsonBytes(status, Buffer.from(JSON.stringify(value)))
}

function jsonBytes(status: number, body: Uint8Array): Answer {
  return { status, headers: jsonHeaders, body }
}
