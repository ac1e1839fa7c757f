/**
 * Assembles the server from its parts, starts it, and shuts it down. Read `startServer` first. `request-handler.ts`
 * processes requests.
 */
import { join } from 'node:path'
import { pino, stdSerializers, type Logger } from 'pino'
import { abortable, ignoringErrors, inBackground, nextTurn, resourceLimit } from '../base/index.js'
import { codecName, codecNote } from '../codec/index.js'
import { CycleService, scoredBefore, warmUp, type CycleServiceParts } from '../cycle/index.js'
import { ImageSemaphore } from '../images/index.js'
import {
  FallbackFile,
  ModelLifecycle,
  StatusFile,
  versionLoader,
  type Model,
  type ModelUsers,
  type ProcessRole,
} from '../model/index.js'
import {
  databasePath,
  openLmdbStore,
  openStoreOnPostgres,
  type JournalStore,
  StoreError,
  type DirectoryLock,
  type Store,
  type UpgradeEvent,
} from '../store/index.js'
import { ApiKeys } from './api-keys.js'
import { logBackgroundFailures } from './background-log.js'
import { BodyMemory } from './body.js'
import { logDates } from './certificate-dates.js'
import { ConnectionLimit } from './connection-limit.js'
import { DiskSpace } from './disk-space.js'
import type { EndedRequest } from './exchange.js'
import { heldResources, type HeldResources } from './held-resources.js'
import { listen } from './http-listener.js'
import { ImageUploads } from './image-uploads.js'
import { isoTimeOnce, LogOutput } from './log-output.js'
import { reload, waitingImageBytesMax, type ReloadParts } from './reload.js'
import { RequestHandler } from './request-handler.js'
import { authorityOf, type Settings } from '../settings/index.js'

/** Part of the shutdown time, reserved for closing the model and the store after the last response. */
const closingMsMax = 1000
/** Limits the writing of the last log lines. */
const logMsMax = 200
const stdout = 1

/** What the admin listener of a server reads. */
export interface ServerSources {
  readonly store: Store
  readonly cycles: CycleService
  readonly models: ModelLifecycle
  /** The settings in force. */
  readonly settings: () => Settings
  readonly disk: DiskSpace
  /** What the calls hold now. */
  readonly held: () => HeldResources
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: Logger
}

export interface AdminSide {
  /** Connections that it accepts at a time. */
  readonly connectionsMax: number
  requestEnded(request: EndedRequest): void
  processLost(role: ProcessRole): void
  /** Uses the certificate that the settings name for new connections. */
  renewCertificate(): void
  stop(): void
}

/** Starts the admin listener of a server, before its model is loaded. Rejects with one clear error. */
export type StartAdmin = (sources: ServerSources) => Promise<AdminSide | null>

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** The settings in force. */
  readonly settings: Settings
  /** Applies the settings from `read` that need no restart. The log names both kinds. */
  reload(read: () => Settings): void
  /** Shuts down: finishes requests in progress, refuses others with 503, closes the store. */
  stop(): Promise<void>
  /** Logs an error after which the process cannot continue. It is written when this returns. */
  logFatal(error: unknown): void
  /** Resolves when the server has stopped. */
  readonly stopped: Promise<void>
}

/**
 * Opens the data directory, loads the model and the pool, and listens. Rejects with one clear error. `lock`: of the data
 * directory; the server releases it. `startAdmin`: default none.
 */
export async function startServer(
  settings: Settings,
  lock: DirectoryLock,
  startAdmin: StartAdmin = () => Promise.resolve(null),
): Promise<RunningServer> {
  // The serializer of pino appends the messages of the causes to that of the error, which states them already.
  const serializers = { err: stdSerializers.errWithCause }
  const logOptions = { level: settings.logLevel, base: null, timestamp: isoTimeOnce(), serializers }
  const output = new LogOutput(stdout)
  const log = pino(logOptions, output)
  const endBackgroundLog = logBackgroundFailures(log)
  const onMade = (file: string, from: 'missing' | 'empty'): void => {
    if (from === 'missing') log.info({ file }, 'a new database was created')
    else log.warn({ file }, 'database file was empty; created a new database')
  }
  const onUpgrade = (event: UpgradeEvent): void => {
    if (event.kind === 'start') log.info({ ...event.plan }, 'the database is being upgraded')
    if (event.kind === 'progress') log.info({ records: event.records }, 'the database is being upgraded')
    if (event.kind === 'end')
      log.info({ ...event.facts }, 'the database was upgraded; the old file is kept until a cycle is stored')
  }
  const onStopped = (err: StoreError): void => log.error({ err }, 'the store refuses all further writes')
  const endLog = async (): Promise<void> => {
    endBackgroundLog()
    await output.drain(logMsMax)
  }
  const flushLog = (): void => output.flush()
  const { dataDir, journal, environment } = settings
  const view = { dataDir, lock, onMade, onUpgrade, onStopped }
  let opened: ServedStore | null = null
  const openStore = async (hasModel: () => boolean): Promise<ServedStore> => {
    opened =
      journal === undefined || environment === undefined
        ? await openLmdbStore(view)
        : await openStoreOnPostgres({ journal, environment, view, log, hasModel })
    return opened
  }
  try {
    return await startParts({ openStore, settings, log, startAdmin, endLog, flushLog })
  } catch (error) {
    const store = opened as ServedStore | null
    await ignoringErrors(() => store?.close())
    await endLog()
    const isDamaged = store !== null && error instanceof StoreError && error.code === 'unusable'
    throw isDamaged ? damaged(settings, error) : error
  }
}

/** With a journal, other processes may take over, or be replaced. */
type ServedStore = Store & Partial<Pick<JournalStore, 'tryToOwn' | 'handOver'>>

/** A record needed at startup cannot be read: names the file and the remedy. */
function damaged({ dataDir, journal }: Settings, cause: StoreError): StoreError {
  const remedy =
    journal === undefined
      ? 'must be restored from a backup'
      : 'cannot be used; delete it once, so that it is read again from the journal. If that fails too, the journal must be restored from a backup'
  const message = `${databasePath(dataDir)} ${remedy}: ${cause.message}`
  return new StoreError('unusable', message, { cause })
}

/** The parts that shutdown and reload use. */
interface Parts extends ReloadParts {
  readonly url: string
  readonly store: ServedStore
  readonly models: ModelLifecycle
  readonly cycles: CycleService
  readonly handler: RequestHandler
  readonly log: Logger
  readonly admin: AdminSide | null
  readonly disk: DiskSpace
  readonly endLog: () => Promise<void>
  readonly flushLog: () => void
}

interface StartParts extends Pick<Parts, 'log' | 'endLog' | 'flushLog'> {
  /** `hasModel`: whether a model serves. */
  readonly openStore: (hasModel: () => boolean) => Promise<ServedStore>
  readonly settings: Settings
  readonly startAdmin: StartAdmin
}

/** What a model that is being loaded waits for. */
interface Opened {
  readonly store: ServedStore
  readonly cycles: CycleService
}

async function startParts({
  openStore,
  settings,
  log,
  startAdmin,
  endLog,
  flushLog,
}: StartParts): Promise<RunningServer> {
  log.info({ codec: codecName }, codecNote)
  const current = { settings }
  const inForce = (): Settings => current.settings
  const clock = (): number => Date.now()
  const disk = new DiskSpace(settings.dataDir)

  let admin: AdminSide | null = null
  const onProcessLost = (role: ProcessRole): void => admin?.processLost(role)
  // It is never rejected: after a failure, the loads that wait for it are cancelled.
  const opened = Promise.withResolvers<Opened>()
  const models = openModels({ opened: opened.promise, settings, log, clock, onProcessLost })
  const model = (): Model | null => models.current()
  const open = async () => {
    const store = await openStore(() => model() !== null)
    const { initialWeights, textEncodeMsMax } = settings
    const cycleParts: CycleServiceParts = {
      store,
      model,
      clock,
      log,
      initialWeights,
      textEncodeMsMax,
      limits: inForce,
      retention: inForce,
      modelAbsence: () => models.absence,
      modelWarnings: () => models.warnings,
      diskProblem: () => disk.problem,
    }
    const cycles = await CycleService.open(cycleParts)
    cycles.failures.onFailed(({ version, cycleCount, reason: problem }) => {
      const { fallbackAfterFailures } = inForce()
      if (fallbackAfterFailures === 0 || cycleCount < fallbackAfterFailures) return
      inBackground('model failure', models.fallBack({ version, cycleCount, problem }))
    })
    cycles.failures.onScored(({ version }) => models.scored(version))
    opened.resolve({ store, cycles })

    const imageSemaphore = new ImageSemaphore(waitingImageBytesMax(settings))
    const images = new ImageUploads(store, imageSemaphore, (key) => cycles.imageStored(key))
    const apiKeys = new ApiKeys(settings.apiKeys)
    const bodies = new BodyMemory(settings.bodiesBytesMax)
    const handler = new RequestHandler({
      apiKeys,
      bodies,
      log,
      operationParts: { cycles, images, store, model, clock, settings: inForce, log },
    })
    const held = (): HeldResources => heldResources({ bodies, handler, imageSemaphore })
    const started = await startAdmin({ store, cycles, models, settings: inForce, disk, held, clock, log })
    if (started !== null) handler.observe((request) => started.requestEnded(request))
    admin = started
    return {
      store,
      cycles,
      cycleParts,
      apiKeys,
      bodies,
      imageSemaphore,
      handler,
      admin,
    }
  }
  // A model is loaded while the store is checked and opened, which takes as long.
  const opening = open()
  try {
    const [parts] = await Promise.all([opening, models.open(usersOf(opened.promise))])
    const { store, cycles, cycleParts, handler } = parts
    const connections = new ConnectionLimit(settings.connectionsMax, log, {
      adminConnectionsMax: parts.admin?.connectionsMax ?? 0,
      descriptorsMax: resourceLimit('Max open files'),
    })
    await Promise.all([disk.watch(), store.tryToOwn?.()])
    const listener = await listen(settings, {
      connections,
      onRequest: (response, request) => handler.handle(response, request),
    })
    if (listener.certificateDates !== null) logDates(listener.certificateDates, clock(), log)
    const scheme = settings.tlsCertFile === undefined ? 'http' : 'https'
    const url = `${scheme}://${authorityOf(settings.host, listener.port)}`
    const fields = { url, pid: process.pid, data_dir: settings.dataDir, pending: cycles.pendingCount }
    log.info(fields, 'listening')
    inBackground('warm-up', warmUp(cycles, cycleParts, log))
    return running({
      ...parts,
      disk,
      current,
      connections,
      listener,
      clock,
      log,
      url,
      models,
      endLog,
      flushLog,
    })
  } catch (error) {
    await Promise.allSettled([opening])
    disk.stop()
    await ignoringErrors(() => admin?.stop())
    await ignoringErrors(() => models.close())
    throw error
  }
}

/** The users of models, of cycles that are not open yet. */
function usersOf(opened: Promise<Opened>): ModelUsers {
  const users = async (signal?: AbortSignal): Promise<ModelUsers> =>
    (await abortable(opened, signal)).cycles.models
  return {
    adopt: async (model, before, takeOver, signal) =>
      (await users(signal)).adopt(model, before, takeOver, signal),
    addShadow: async (model, signal) => (await users(signal)).addShadow(model, signal),
    removeShadow: async (model) => (await users()).removeShadow(model),
  }
}

/** The models of the settings, none of them loaded yet. */
function openModels({
  opened,
  settings,
  log,
  clock,
  onProcessLost,
}: Pick<Parts, 'log' | 'clock'> & {
  readonly opened: Promise<Opened>
  readonly settings: Settings
  readonly onProcessLost: (role: ProcessRole) => void
}): ModelLifecycle {
  const { modelsDir, executionProviders, mostlyOnCpu, intraOpThreads } = settings
  const load = versionLoader({
    modelsDir,
    executionProviders,
    mostlyOnCpu,
    log,
    onProcessLost,
    ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
    timeLimitMs: settings.predictMsMax,
    latencyMsMax: settings.modelLatencyMsMax,
    processBytesMax: settings.modelProcessBytesMax,
    claimVersion: async (version, identity) => (await opened).store.models.claimVersion(version, identity),
    copiesDir: join(settings.dataDir, 'models-loaded'),
  })
  const { dataDir } = settings
  return new ModelLifecycle({
    modelsDir,
    load,
    log,
    clock,
    statusFile: new StatusFile(dataDir, modelsDir),
    fallbackFile: new FallbackFile(dataDir),
    scoredBefore: async (versions) => scoredBefore((await opened).store, versions),
  })
}

function running(parts: Parts): RunningServer {
  const { current, listener, url, log, flushLog } = parts
  let stopping: Promise<void> | null = null
  let resolveStopped = (): void => undefined
  const stopped = new Promise<void>((resolve) => (resolveStopped = resolve))
  return {
    url,
    port: listener.port,
    stopped,
    get settings() {
      return current.settings
    },
    reload: (read) => {
      if (reload(parts, read)) parts.admin?.renewCertificate()
    },
    logFatal: (err) => {
      log.fatal({ err }, 'unexpected error: the process ends')
      flushLog()
    },
    stop: () => (stopping ??= shutDown(parts).then(resolveStopped)),
  }
}

async function shutDown(parts: Parts): Promise<void> {
  const { current, models, log, store } = parts
  log.info('stopping')
  const { shutdownMsMax } = current.settings
  const deadline = performance.now() + shutdownMsMax
  await stopServing(parts, shutdownMsMax - Math.min(closingMsMax, shutdownMsMax / 2))
  await withinMs(store.handOver?.() ?? Promise.resolve(), (deadline - performance.now()) / 2)
  parts.admin?.stop()
  parts.disk.stop()
  // A model that hangs gets half of the remaining time: the store must be closed in any case.
  await withinMs(models.close(), (deadline - performance.now()) / 2)
  await store.close()
  log.info('stopped')
  await parts.endLog()
}

/** Lets requests in progress finish for at most `msMax`, then closes all connections. */
async function stopServing({ cycles, handler, listener }: Parts, msMax: number): Promise<void> {
  listener.stopListening()
  handler.close()
  await withinMs(Promise.all([cycles.close(), handler.idle()]), msMax)
  handler.endDrains()
  // Responses to bodies that were being drained leave at the end of this turn of the event loop.
  await nextTurn()
  listener.closeConnections()
}

/** Waits for `work`, at most `ms`. */
async function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([work, limit])
  clearTimeout(timer)
}
