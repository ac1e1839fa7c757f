/**
 * The server: puts the parts together, guards every request in the order of decisions.md 1, words every error, logs
 * one line a request, and ends gracefully. Read `startServer` first, then `answer`.
 */
import { pino, type Logger } from 'pino'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { loadCodec } from '../codec/index.js'
import { ServiceError } from '../contract/index.js'
import { CycleService } from '../cycle/index.js'
import { ImageGate } from '../images/index.js'
import { openLmdbStore, type Store } from '../store/index.js'
import { encodeAnswer } from './answer-encoding.js'
import { ApiKeys } from './api-keys.js'
import { BodyBudget } from './body-budget.js'
import { Exchange, type Answer } from './exchange.js'
import { listen, type HttpListener } from './http-listener.js'
import { shimMissing } from './http-shim.js'
import { ImageDesk } from './image-desk.js'
import { ModelSeat } from './model-seat.js'
import { jsonHeaders, operations, type OperationParts } from './operations.js'
import { findRoute } from './routes.js'
import type { Settings } from './settings.js'
import { StageReport } from './stage-report.js'

/** Of the time for the end: kept for the model and the store after the last answer. */
const closingMsMax = 1000

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Ends gracefully: finishes what has begun, answers 503 to what has not, closes the store. */
  stop(): Promise<void>
  /** Resolves when the server has ended. */
  readonly stopped: Promise<void>
}

/** Opens the data directory, loads the model and the pool, and listens. Rejects with one clear error. */
export async function startServer(settings: Settings): Promise<RunningServer> {
  const log = pino({ level: settings.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime })
  const store = await openLmdbStore({ dataDir: settings.dataDir })
  try {
    return await startOn(store, settings, log)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function startOn(store: Store, settings: Settings, log: Logger): Promise<RunningServer> {
  const clock = (): number => Date.now()
  const seat = new ModelSeat(settings, log)
  const model = (): ReturnType<typeof seat.current> => seat.current()
  const { codec, note } = loadCodec(settings.codec)
  log.info({ codec: codec.name }, note)
  const cycles = await CycleService.open({ ...settings, codec, store, model, clock, log })
  const gate = new ImageGate({
    activeCountMax: settings.imageConcurrency,
    waitingBytesMax: settings.imagesWaitingBytesMax,
  })
  const images = new ImageDesk(store, gate, (key) => cycles.images.add(key))
  const report = settings.stageReport === undefined ? null : new StageReport(settings.stageReport)
  const { apiKeys, bodiesBytesMax, bodyReadMsMax } = settings
  const guards = { keys: new ApiKeys(apiKeys), bodies: new BodyBudget(bodiesBytesMax) }
  const front = new Front(guards, log, report, { cycles, images, store, model, clock, bodyReadMsMax, log })
  await seat.load()
  const listener = await listen(settings, (response, request) => front.accept(response, request))
  const scheme = settings.tlsCertFile === undefined ? 'http' : 'https'
  const url = `${scheme}://${settings.host}:${listener.port}`
  // Under TLS the shim sees no plain text, so there is nothing to miss.
  const missing = scheme === 'http' ? shimMissing() : null
  if (missing !== null) log.warn(missing)
  log.info({ url, data_dir: settings.dataDir, pending: cycles.pendingCount }, 'listening')

  let resolveStopped = (): void => undefined
  const stopped = new Promise<void>((resolve) => (resolveStopped = resolve))
  let stopping: Promise<void> | null = null
  const end = async (): Promise<void> => {
    log.info('stopping')
    const deadline = performance.now() + settings.shutdownMsMax
    const closingMs = Math.min(closingMsMax, settings.shutdownMsMax / 2)
    await stopServing(front, listener, cycles, settings.shutdownMsMax - closingMs)
    // A model that hangs gets half of what is left: the store must be closed in any case.
    await withinMs(seat.close(), (deadline - performance.now()) / 2)
    await store.close()
    report?.write()
    log.info('stopped')
    log.flush()
    resolveStopped()
  }
  return { url, port: listener.port, stopped, stop: () => (stopping ??= end()) }
}

/** Lets requests under way end, for `msMax` at most; what stalls is cut off (decisions.md 40). */
async function stopServing(
  front: Front,
  listener: HttpListener,
  cycles: CycleService,
  msMax: number,
): Promise<void> {
  listener.stopListening()
  front.close()
  await withinMs(Promise.all([cycles.close(), front.idle()]), msMax)
  listener.closeConnections()
}

/** Waits for `work`, `ms` at most. */
async function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work, limit])
  clearTimeout(timer)
}

/** Every request passes here. */
class Front {
  readonly #keys: ApiKeys
  readonly #bodies: BodyBudget
  readonly #log: Logger
  readonly #report: StageReport | null
  readonly #parts: OperationParts
  readonly #underWay = new Set<Exchange>()
  #closing = false
  #onIdle: (() => void) | null = null

  constructor(
    { keys, bodies }: { keys: ApiKeys; bodies: BodyBudget },
    log: Logger,
    report: StageReport | null,
    parts: OperationParts,
  ) {
    this.#keys = keys
    this.#bodies = bodies
    this.#report = report
    this.#log = log
    this.#parts = parts
  }

  accept(response: HttpResponse, request: HttpRequest): void {
    const body = this.#bodies.open()
    const exchange = new Exchange(response, request, this.#parts.clock(), body, (ended) => this.#ended(ended))
    this.#underWay.add(exchange)
    this.#answer(exchange)
      .catch((error: unknown) => this.#errorAnswer(exchange, error))
      // Answered, refused or left alone: the operation has ended, and nothing needs the body any more.
      .finally(() => body.release())
      .then((answer) => exchange.send(answer, this.#closing))
      .catch((error: unknown) => {
        this.#log.error(
          { err: error, method: exchange.method, path: clip(exchange.path) },
          'no answer was sent',
        )
        exchange.abort()
      })
  }

  /** Gives up on bodies that are still arriving and closes connections after their next answer. */
  close(): void {
    this.#closing = true
    for (const exchange of this.#underWay) exchange.refuseBody(shuttingDown())
  }

  idle(): Promise<void> {
    if (this.#underWay.size === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#onIdle = resolve))
  }

  /** Checks in the order of decisions.md 1. Runs in one turn up to the point where the body is read. */
  async #answer(exchange: Exchange): Promise<Answer> {
    const route = findRoute(exchange.method, exchange.path)
    const open = route.kind === 'operation' && route.operation === 'getHealth'
    if (!open && !this.#keys.accepts(exchange.headers.authorization)) {
      throw new ServiceError('unauthorized', 'the API key is missing or unknown')
    }
    if (route.kind === 'not_found') throw new ServiceError('not_found', 'there is nothing at this path')
    if (route.kind === 'method_not_allowed') {
      throw new ServiceError('method_not_allowed', `allowed here: ${route.allow}`, { allow: route.allow })
    }
    if (this.#closing) throw shuttingDown()
    const answer = await operations[route.operation](exchange, route.parameters, this.#parts)
    return encodeAnswer(answer, exchange.headers.acceptEncoding)
  }

  #errorAnswer(exchange: Exchange, error: unknown): Answer {
    const known = error instanceof ServiceError
    const refusal = known ? error : new ServiceError('server_error', 'internal error')
    const cause: unknown = known ? error.cause : error
    const record = refusal.toRecord()
    exchange.errorCode = record.error.code
    if (refusal.status >= 500) {
      exchange.errorReason = refusal.message
      if (cause !== undefined)
        this.#log.error(
          { err: cause, method: exchange.method, path: clip(exchange.path) },
          'a request failed',
        )
    }
    return {
      status: refusal.status,
      headers: {
        ...jsonHeaders,
        ...(refusal.allow === undefined ? {} : { Allow: refusal.allow }),
        ...(refusal.retryAfterS === undefined ? {} : { 'Retry-After': String(refusal.retryAfterS) }),
      },
      body: Buffer.from(JSON.stringify(record)),
    }
  }

  #ended(exchange: Exchange): void {
    this.#underWay.delete(exchange)
    const { stages } = exchange
    if (stages !== null && exchange.status === 200) {
      stages.lap('send')
      this.#report?.add(stages)
      this.#log.debug({ stages_ms: Object.fromEntries(stages.ms) }, 'cycle')
    }
    this.#log.info(
      {
        method: exchange.method,
        path: clip(exchange.path),
        status: exchange.status || 'aborted',
        code: exchange.errorCode,
        reason: exchange.errorReason,
        ms: Math.round((performance.now() - exchange.startedAt) * 1000) / 1000,
        bytes_in: exchange.bytesReceived,
        bytes_out: exchange.bytesSent,
      },
      'request',
    )
    if (this.#underWay.size === 0) this.#onIdle?.()
  }
}

function shuttingDown(): ServiceError {
  return new ServiceError('unavailable', 'the service is shutting down')
}

/** Paths carry gallery ids of any length. */
function clip(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 200)}…`
}
