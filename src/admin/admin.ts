/**
 * Assembles the observer and the admin listener of a server. Read `routesOf` for all routes.
 */
import { inBackground, Semaphore } from '../base/index.js'
import { openApiDocument, reasonsText, ServiceError, type Series } from '../contract/index.js'
import { lastCycleOf, type AdminSide, type ServerSources } from '../server/index.js'
import { Access } from './access.js'
import { HealthChecks } from './checks.js'
import { EventStreams, statusEvents } from './event-streams.js'
import type { StartWorker } from '../history/index.js'
import { HistoryReplies } from './history-replies.js'
import { AdminListener, connectionsMax, type TlsFiles } from './listener.js'
import { ServiceMetrics } from './metrics/metrics.js'
import { Observer, unauthorizedCode } from './observer.js'
import { cycleLists, requestOf, responseOf, storedCycle } from './page-data/cycles.js'
import { image } from './page-data/images.js'
import { LeftPostLists, leftQuery } from './page-data/left-posts.js'
import { compareRequest, models, verifyRequest } from './page-data/models.js'
import { now, type NowParts } from './page-data/now.js'
import { picks, picksQuery } from './page-data/picks.js'
import { explainRequest, numberOfPath, post } from './page-data/post.js'
import { Titles } from './page-data/titles.js'
import { pageRoutes } from './page-files.js'
import { loginStyle } from './login-page.js'
import { json, type Route } from './routes.js'
import { Tracing } from './tracing.js'

export interface AdminOptions {
  readonly host: string
  readonly port: number
  readonly token: string
  /** The files in force; null: plain HTTP. */
  readonly tls: () => TlsFiles | null
  /** Program version. */
  readonly version: string
  /** Starts a process that reads the data directory of the server. */
  readonly startWorker: StartWorker
}

export interface Admin extends AdminSide {
  readonly port: number
}

/** Interval between checks for changes of status and models while a page is open. */
const watchMs = 1000
/** Requests at a time that unpack stored cycles, of up to 16 MiB each, and those that wait for them. */
const unpackCountMax = 2
const unpackWaitingMax = 20

/** Rejects with the error of the system if the port cannot be opened. */
export async function startAdmin(sources: ServerSources, options: AdminOptions): Promise<Admin> {
  const { host, port, token, tls, version } = options
  const { log } = sources
  const streams = new EventStreams(sources.clock)
  const checks = new HealthChecks(sources)
  const tracing = new Tracing(version)
  const observer = new Observer(sources)
  const limiter = new Semaphore(unpackCountMax, {
    waitingMax: unpackWaitingMax,
    refusal: () => new ServiceError({ code: 'too_many_requests' }),
  })
  const metrics = new ServiceMetrics({ sources, observer, checks, streams, limiter, version })
  const history = new HistoryReplies({
    start: options.startWorker,
    lastCycleId: () => lastCycleOf(sources.cycles)?.cycleId ?? null,
    log,
  })
  const titles = new Titles(sources)
  const leftPosts = new LeftPostLists(sources)
  const parts: Parts = {
    sources,
    observer,
    checks,
    streams,
    limiter,
    metrics,
    titles,
    leftPosts,
    history,
    version,
  }
  const close = (): void => {
    observer.close()
    metrics.close()
    streams.close()
    history.close()
  }
  const files = tls()
  const access = new Access({ token, host, isTls: files !== null })
  const opening = AdminListener.open({ host, port, tls: files, access, routes: routesOf(parts), log })
  const listener = await opening.catch((error: unknown) => {
    close()
    throw error
  })
  observer.listen({
    onCycle: (point) => streams.send('cycle', point),
    // The calls that `/api/cycles` lists, except those that anyone can cause at any rate.
    onCall: (call) => {
      if (call.code !== unauthorizedCode) streams.send('call', { ...call, instance: observer.instance })
    },
  })
  // Last: the user's SDK runs here, and what it throws must not keep the others from the request.
  observer.listen({ onRequest: (request) => tracing.requestEnded(request) })
  const sendChanges = statusEvents(parts)
  const watch = setInterval(() => inBackground('status events', sendChanges), watchMs).unref()
  return {
    port: listener.port,
    connectionsMax,
    requestEnded: (request) => observer.requestEnded(request),
    processLost: (role) => metrics.processLost(role),
    renewCertificate: () => {
      const renewed = tls()
      try {
        if (renewed !== null) listener.renewCertificate(renewed)
      } catch (err) {
        log.error(
          { err },
          'the certificate of the admin listener could not be renewed; the old one stays in use',
        )
      }
    },
    stop: () => {
      clearInterval(watch)
      listener.close()
      close()
    },
  }
}

interface Parts extends NowParts {
  readonly streams: EventStreams
  readonly limiter: Semaphore
  readonly metrics: ServiceMetrics
  readonly titles: Titles
  readonly leftPosts: LeftPostLists
  readonly history: HistoryReplies
}

function routesOf(parts: Parts): Route[] {
  const { sources, observer, checks, streams, limiter, metrics, history } = parts
  const route = (access: Route['access'], path: string, handle: Route['handle']): Route => ({
    path,
    access,
    handle,
  })
  const openApi = json(openApiDocument())
  return [
    route('open', '/livez', () => json({ status: 'ok' })),
    route('open', '/readyz', async ({ query }) => {
      const lines = await checks.run(query.get('standbyok') === 'true')
      const isReady = lines.every(({ status }) => status !== 'fail')
      const status = isReady ? 'ready' : 'not ready'
      const printed = lines.map(({ check, status, reasons }) => ({
        check,
        status,
        reason: reasonsText(reasons),
      }))
      return json({ status, role: sources.store.role, checks: printed }, isReady ? 200 : 503)
    }),
    route('open', '/metrics', async () => ({
      status: 200,
      headers: { 'Content-Type': metrics.contentType },
      body: Buffer.from(await metrics.text()),
    })),
    route('open', '/openapi.json', () => openApi),
    loginStyle,
    ...(pageRoutes() ?? [route('token', '/', () => json({ version: parts.version }))]),
    route('token', '/api/now', async () => json(await now(parts))),
    route('token', '/api/series', () => json({ points: observer.points.items } satisfies Series)),
    route('token', '/api/picks', ({ query, gone }) =>
      limiter.run(() => picks(parts, picksQuery(query), gone).then(json), gone),
    ),
    route('token', '/api/left', ({ query, gone }) =>
      limiter.run(() => parts.leftPosts.find(leftQuery(query), gone).then(json), gone),
    ),
    route('token', '/api/posts/{gall_id}/{post_no}', ({ parameters: [gallId = '', postNo = ''], gone }) =>
      limiter.run(() => post(parts, gallId, numberOfPath(postNo)).then(json), gone),
    ),
    route(
      'token',
      '/api/posts/{gall_id}/{post_no}/images/{position}',
      ({ parameters: [gallId = '', postNo = '', position = ''], query }) => {
        const key = { gallId, postNo: numberOfPath(postNo), position: numberOfPath(position) }
        return image(sources, key, query.get('sha256'))
      },
    ),
    route(
      'token',
      '/api/posts/{gall_id}/{post_no}/history',
      ({ parameters: [gallId = '', postNo = ''], query, gone }) =>
        history.reply(explainRequest(gallId, numberOfPath(postNo), query), gone),
    ),
    route('token', '/api/report', ({ gone }) => history.reply({ kind: 'report' }, gone)),
    route('token', '/api/models', async () => json(await models(parts))),
    route('token', '/api/models/{version}/checks', async ({ parameters: [version = ''], gone }) =>
      history.reply(await verifyRequest(sources, version), gone),
    ),
    route('token', '/api/models/{version}/comparison', async ({ parameters: [version = ''], gone }) =>
      history.reply(await compareRequest(sources, version), gone),
    ),
    route('token', '/api/cycles', ({ query }) => json(cycleLists(sources, observer, query))),
    route('token', '/api/cycles/{cycle_id}', ({ parameters: [cycleId = ''], gone }) =>
      limiter.run(() => Promise.resolve(json(storedCycle(sources, cycleId))), gone),
    ),
    route('token', '/api/cycles/{cycle_id}/request', ({ parameters: [cycleId = ''], gone }) =>
      limiter.run(() => requestOf(sources, cycleId), gone),
    ),
    route('token', '/api/cycles/{cycle_id}/response', ({ parameters: [cycleId = ''], gone }) =>
      limiter.run(() => Promise.resolve(responseOf(sources, cycleId)), gone),
    ),
    route('token', '/api/events', () => streams.open()),
  ]
}
