/**
 * The server: puts the parts together, guards every request in the order of decisions.md 1, words every error, logs
 * one line a request, and ends gracefully. Read `startServer` first, then `answer`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino, type Logger } from 'pino'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { loadCodec, type Codec } from '../codec/index.js'
import { ServiceError } from '../contract/index.js'
import { CycleService, warmUp, type CycleServiceParts } from '../cycle/index.js'
import { ImageGate } from '../images/index.js'
import { ModelLifecycle, versionLoader, type Model } from '../model/index.js'
import { databasePath, openLmdbStore, StoreError, type Store } from '../store/index.js'
import { gzipAnswer, isForGzip } from './answer-encoding.js'
import { ApiKeys } from './api-keys.js'
import { BodyBudget } from './body-budget.js'
import { BodyTurns } from './body-turns.js'
import { tellDates } from './certificate-dates.js'
import { clientOf } from './client-address.js'
import { Connections } from './connections.js'
import { Exchange, type Answer } from './exchange.js'
import { listen, placeOf, type HttpListener } from './http-listener.js'
import { limitPerAddress, shimMissing } from './http-shim.js'
import { ImageDesk } from './image-desk.js'
import { LogOutput } from './log-output.js'
import { jsonHeaders, operations, type OperationParts } from './operations.js'
import { takeLead } from './priority-lead.js'
import { reload, type ReloadParts, type ReloadRequest } from './reload.js'
import { findRoute } from './routes.js'
import type { Settings } from './settings.js'
import { StageReport } from './stage-report.js'
import { WrongKeys } from './wrong-keys.js'

/** Of the time for the end: kept for the model and the store after the last answer. */
const closingMsMax = 1000
/** For the last lines of the log. */
const logMsMax = 200
const stdout = 1
/** Of a 401 (RFC 9110, 15.5.2). The scheme is a name of our own: the key stands alone in its header. */
const challenge = 'ApiKey'

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** In force now. */
  readonly settings: Settings
  /** Reads settings again and takes over what may change without a restart; the log says what became of it. */
  reload(request: ReloadRequest): void
  /** Ends gracefully: finishes what has begun, answers 503 to what has not, closes the store. */
  stop(): Promise<void>
  /** Resolves when the server has ended. */
  readonly stopped: Promise<void>
}

/** Opens the data directory, loads the model and the pool, and listens. Rejects with one clear error. */
export async function startServer(settings: Settings): Promise<RunningServer> {
  const options = { level: settings.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  const output = new LogOutput(stdout)
  const log = pino(options, output)
  const onMade = (file: string, from: 'missing' | 'empty'): void => {
    if (from === 'missing') log.info({ file }, 'a new database was made')
    else log.warn({ file }, 'the database file was empty: a new database was made in it')
  }
  const store = await openLmdbStore({ dataDir: settings.dataDir, onMade })
  try {
    return await startOn(store, settings, log, () => output.drain(logMsMax))
  } catch (error) {
    await store.close()
    await output.drain(logMsMax)
    throw isUnusable(error) ? lostRecord(settings.dataDir, error) : error
  }
}

function isUnusable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.code === 'unusable'
}

/** A record that the start needs and that cannot be read: names the file and the way out. */
function lostRecord(dataDir: string, cause: StoreError): StoreError {
  const message = `${databasePath(dataDir)} has to be restored from a backup: ${cause.message}`
  return new StoreError('unusable', message, { cause })
}

async function startOn(
  store: Store,
  settings: Settings,
  log: Logger,
  drainLog: () => Promise<void>,
): Promise<RunningServer> {
  const { codec, note } = loadCodec(settings.codec)
  log.info({ codec: codec.name }, note)
  // The store, which is open, has begun the pool of threads; a process of a model has not been started yet.
  const priority = takeLead(settings.priorityLead)
  log.info({ priority, priority_lead: settings.priorityLead }, 'priority of the event loop and of models')
  const clock = (): number => Date.now()
  const models = openModels(store, settings, codec, log, clock)
  // What `reload` replaces. Whoever goes by it asks each time; what holds values of it is told.
  const live = { current: settings }
  const inForce = (): Settings => live.current
  const surroundings = {
    store,
    model: (): Model | null => models.current(),
    clock,
    log,
  }
  const { initialWeights, textEncodeMsMax } = settings
  const cycleParts: CycleServiceParts = {
    ...surroundings,
    ...{ codec, initialWeights, textEncodeMsMax, limits: inForce, retention: inForce },
  }
  const cycles = await CycleService.open(cycleParts)
  const imageGate = new ImageGate({
    activeCountMax: settings.imageConcurrency,
    waitingBytesMax: settings.imagesWaitingBytesMax,
  })
  const images = new ImageDesk(store, imageGate, (key) => cycles.imageStored(key))
  const report = settings.stageReport === undefined ? null : new StageReport(settings.stageReport)
  const guards = openGuards(inForce, log)
  const front = new Front(guards, log, report, { ...surroundings, cycles, images, settings: inForce })
  try {
    await models.open(cycles)
    const door = await openDoor(settings, front, log)
    const { certificateDates } = door.listener
    if (certificateDates !== null) tellDates(certificateDates, surroundings.clock(), log)
    log.info(
      { url: door.url, pid: process.pid, data_dir: settings.dataDir, pending: cycles.pendingCount },
      'listening',
    )
    const parts = { ...surroundings, ...guards, ...door, settings: live, cycleParts, imageGate }
    return running({ ...parts, cycles, models, front, report, drainLog })
  } catch (error) {
    await models.close()
    throw error
  }
}

/** The models of the settings, none of them loaded yet. */
function openModels(
  store: Store,
  settings: Settings,
  codec: Codec,
  log: Logger,
  clock: () => number,
): ModelLifecycle {
  const { modelsDir, executionProviders, intraOpThreads } = settings
  const load = versionLoader({
    ...{ modelsDir, executionProviders, codec, log },
    ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
    timeLimitMs: settings.predictMsMax,
    processBytesMax: settings.modelProcessBytesMax,
    claimVersion: (version, identity) => store.models.claimVersion(version, identity),
  })
  return new ModelLifecycle({ modelsDir, load, log, clock })
}

/** Opens the port. */
async function openDoor(
  settings: Settings,
  front: Front,
  log: Logger,
): Promise<{ connections: Connections; listener: HttpListener; url: string }> {
  const connections = new Connections(settings.connectionsMax, log)
  limitPerAddress(settings.connectionsPerAddressMax)
  const listener = await listen(settings, {
    connections,
    onRequest: (response, request) => front.accept(response, request),
  })
  const scheme = settings.tlsCertFile === undefined ? 'http' : 'https'
  const missing = shimMissing()
  if (missing !== null) log.warn(missing)
  return { connections, listener, url: `${scheme}://${placeOf(settings.host, listener.port)}` }
}

/** All that a server which listens consists of, as far as its end and a change of settings are concerned. */
interface Running extends ReloadParts {
  readonly url: string
  readonly store: Store
  readonly models: ModelLifecycle
  readonly cycles: CycleService
  readonly cycleParts: CycleServiceParts
  readonly front: Front
  readonly report: StageReport | null
  readonly log: Logger
  readonly drainLog: () => Promise<void>
}

function running(parts: Running): RunningServer {
  const { cycles, cycleParts, listener, log, settings, url } = parts
  let stopping: Promise<void> | null = null
  // In the background: whoever is in a hurry is served at once, as slowly as ever.
  const wanted = (): boolean => cycles.submittedCount > 0 || stopping !== null || cycleParts.model() === null
  warmUp(cycleParts, wanted).catch((error: unknown) => {
    if (!wanted()) log.warn({ err: error }, 'the warm-up failed; the first cycles will be slower')
  })
  let resolveStopped = (): void => undefined
  const stopped = new Promise<void>((resolve) => (resolveStopped = resolve))
  return {
    url,
    port: listener.port,
    stopped,
    get settings() {
      return settings.current
    },
    reload: (request) => reload(parts, request),
    stop: () => (stopping ??= end(parts).then(resolveStopped)),
  }
}

async function end(parts: Running): Promise<void> {
  const { models, log, report, store } = parts
  log.info('stopping')
  const { shutdownMsMax } = parts.settings.current
  const deadline = performance.now() + shutdownMsMax
  const closingMs = Math.min(closingMsMax, shutdownMsMax / 2)
  await stopServing(parts, shutdownMsMax - closingMs)
  // A model that hangs gets half of what is left: the store must be closed in any case.
  await withinMs(models.close(), (deadline - performance.now()) / 2)
  await store.close()
  try {
    report?.write()
  } catch (error) {
    log.error({ err: error }, 'the stage report could not be written')
  }
  log.info('stopped')
  await parts.drainLog()
}

/** What stands between a request and its operation. */
interface Guards {
  readonly apiKeys: ApiKeys
  readonly bodies: BodyBudget
  readonly wrongKeys: WrongKeys
}

function openGuards(settings: () => Settings, log: Logger): Guards {
  const { apiKeys, bodiesBytesMax } = settings()
  return {
    apiKeys: new ApiKeys(apiKeys),
    bodies: new BodyBudget(bodiesBytesMax),
    wrongKeys: new WrongKeys({
      limits: settings,
      clock: () => performance.now(),
      onSlow: (client) =>
        log.warn({ client }, 'many wrong keys: later ones of this minute are answered late'),
    }),
  }
}

/** Lets requests under way end, for `msMax` at most; what stalls is cut off (decisions.md 40). */
async function stopServing({ cycles, front, listener }: Running, msMax: number): Promise<void> {
  listener.stopListening()
  front.close()
  await withinMs(Promise.all([cycles.close(), front.idle()]), msMax)
  front.answerNow()
  // What is answered while its request is read leaves at the end of the event loop's turn.
  await nextTurn()
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
  readonly #guards: Guards
  readonly #log: Logger
  readonly #report: StageReport | null
  readonly #parts: OperationParts
  readonly #underWay = new Set<Exchange>()
  readonly #bodyTurns = new BodyTurns()
  #closing = false
  #onIdle: (() => void) | null = null

  constructor(guards: Guards, log: Logger, report: StageReport | null, parts: OperationParts) {
    this.#guards = guards
    this.#report = report
    this.#log = log
    this.#parts = parts
  }

  accept(response: HttpResponse, request: HttpRequest): void {
    const bodies = { hold: this.#guards.bodies.open(), turns: this.#bodyTurns }
    const exchange = new Exchange(response, request, this.#parts.clock(), bodies, (ended) =>
      this.#ended(ended),
    )
    this.#underWay.add(exchange)
    this.#answer(exchange)
      .catch((error: unknown) => this.#errorAnswer(exchange, error))
      .then((answer) => exchange.send(answer, this.#closing))
      // Answered, refused or left alone: the operation has ended, and nothing needs the body any more.
      .finally(() => exchange.body.release())
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
    this.#guards.wrongKeys.close()
    for (const exchange of this.#underWay) exchange.body.refuse(shuttingDown())
  }

  /** Answers that wait for the rest of a body wait no more. */
  answerNow(): void {
    for (const exchange of this.#underWay) exchange.body.endPass()
  }

  idle(): Promise<void> {
    if (this.#underWay.size === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#onIdle = resolve))
  }

  /** Checks in the order of decisions.md 1. Runs in one turn up to the point where the body is read. */
  async #answer(exchange: Exchange): Promise<Answer> {
    const route = findRoute(exchange.method, exchange.path)
    const open = route.kind === 'operation' && route.operation === 'getHealth'
    if (!open && !this.#guards.apiKeys.accepts(exchange.headers.authorization)) {
      await this.#slowDown(exchange)
      throw new ServiceError(
        'unauthorized',
        'the API key is missing or unknown: it is the whole Authorization header, without a scheme',
      )
    }
    if (exchange.headers.isEndUnclear)
      throw new ServiceError('bad_request', 'give one Content-Length or one Transfer-Encoding: chunked')
    if (route.kind === 'not_found') throw new ServiceError('not_found', 'there is nothing at this path')
    if (route.kind === 'method_not_allowed') {
      throw new ServiceError('method_not_allowed', `allowed here: ${route.allow}`, { allow: route.allow })
    }
    if (this.#closing) throw shuttingDown()
    const answer = await operations[route.operation](exchange, route.parameters, this.#parts)
    // A body that nobody has listened to would pass unheard meanwhile, and the answer wait for its end.
    if (!exchange.body.hasArrived || !isForGzip(answer, exchange.headers.acceptEncoding)) return answer
    // Takes more than this turn, and what the client asks for in advance must wait.
    exchange.pause()
    return gzipAnswer(answer)
  }

  /** Resolves when a wrong key may be answered; of a client that has too many answers waiting, cuts the connection. */
  async #slowDown(exchange: Exchange): Promise<void> {
    const { trustedProxyCount } = this.#parts.settings()
    const { authorization, forwardedFor } = exchange.headers
    // No key is no guess.
    if (authorization === '') return
    const client = clientOf(exchange.peer, forwardedFor, trustedProxyCount)
    const verdict = this.#guards.wrongKeys.note(client)
    if (verdict.kind === 'now') return
    if (verdict.kind === 'cut') {
      exchange.errorCode = 'unauthorized'
      exchange.abort()
      return
    }
    exchange.hold()
    await verdict.over
  }

  #errorAnswer(exchange: Exchange, error: unknown): Answer {
    const refusal = refusalOf(error)
    const cause: unknown = refusal === error ? refusal.cause : error
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
        ...(refusal.kind === 'unauthorized' ? { 'WWW-Authenticate': challenge } : {}),
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
        bytes_in: exchange.body.bytesReceived,
        bytes_out: exchange.bytesSent,
      },
      'request',
    )
    if (this.#underWay.size === 0) this.#onIdle?.()
  }
}

/** Storage that cannot be read is no fault of the program either. */
function refusalOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof StoreError) return new ServiceError('unavailable', 'the storage failed')
  return new ServiceError('server_error', 'internal error')
}

function shuttingDown(): ServiceError {
  return new ServiceError('unavailable', 'the service is shutting down')
}

/** Paths carry gallery ids of any length. */
function clip(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 200)}…`
}
