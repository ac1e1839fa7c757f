// `npm run dev`: the service and the page of the sources, while they change. A change of the server is compiled, and the service is
// started again on data/dev, which has the day of a demo: it is made at the first start. The page comes from Vite, which shows a
// change at once, and passes `/api` on.
//   npm run dev -- --fixtures    the page alone, with the responses of its tests
//   npm run dev -- --inspect     with a debugger for the service, at the address that Node prints
import { Buffer } from 'node:buffer'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { clearInterval, setInterval } from 'node:timers'
import { parseArgs } from 'node:util'
import { createServer } from 'vite'
import { listen, startDemo } from './demo.mjs'
import { freePort } from './free-port.mjs'
import { pageConfig } from './page-config.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const dataDir = join(root, 'data/dev')
const pagePortPreferred = 5173
/** What the page requests of the service, and what a developer looks at. */
const servicePaths = '^/(api|metrics|readyz)\\b'
const fixturesModule = join(root, 'test/helpers/page-api.ts')
const heartbeatMs = 5000

const { values: flags } = parseArgs({
  options: { fixtures: { type: 'boolean' }, inspect: { type: 'boolean' } },
})
const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopped.abort())

async function developWithService() {
  if (!(await build()) && !existsSync(join(root, 'dist/cli/main.js'))) process.exit(1)
  try {
    await makeData()
  } catch (error) {
    if (stopped.signal.aborted) return
    throw error
  }
  const service = new Service({ port: await freePort(), adminPort: await freePort() })
  service.start()
  await service.isReady
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const proxy = {
    target: `http://127.0.0.1:${service.adminPort}`,
    headers: { authorization: `Bearer ${token}` },
    // While the service starts, the page waits.
    bypass: () => service.isReady,
  }
  console.log(`understudy: the service: http://127.0.0.1:${service.port}, its key: ${dataDir}/api-key`)
  await develop({ server: { proxy: { [servicePaths]: proxy } } }, (watcher) => {
    watcher.add(join(root, 'src'))
    let due = false
    let work = null
    const renew = async () => {
      while (due && !stopped.signal.aborted) {
        due = false
        if (await build()) await service.restart()
      }
      work = null
    }
    watcher.on('all', () => {
      due = true
      work ??= renew()
    })
    return async () => {
      await work
      await service.stop()
    }
  })
}

/** Serves the page until a signal. `onStart` gets the watcher of files, and returns what is to be done at the end. */
async function develop(config, onStart = () => () => undefined) {
  const server = createHttpServer()
  const port = await listen(server, pagePortPreferred).catch(() => listen(server, 0))
  const vite = await createServer({
    ...pageConfig,
    ...config,
    cacheDir: join(root, 'build/vite'),
    // With a server of its own, Vite would end this process at a signal.
    server: { ...config.server, middlewareMode: true, hmr: { server }, fs: { allow: [root] } },
  })
  server.on('request', vite.middlewares)
  const end = onStart(vite.watcher)
  console.log(`understudy: the page: http://127.0.0.1:${port}/`)
  if (!stopped.signal.aborted) await new Promise((done) => stopped.signal.addEventListener('abort', done))
  await end()
  await vite.close()
  server.close()
  server.closeAllConnections()
}

/** Compiles what has changed, apart from the page and the client. Resolves to whether something was compiled without an error. */
async function build() {
  const before = builtSources()
  const script = join(root, 'scripts/build.mjs')
  const child = spawn(process.execPath, [script, 'server'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const status = await new Promise((done) => child.once('close', done))
  return status === 0 && builtSources() !== before
}

/** Hashes of the sources of what is built. */
function builtSources() {
  return ['dist/.build/server', 'build/Release/.sources']
    .map((file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''))
    .join()
}

/** The data of a demo's day, unless an earlier call has made it. */
async function makeData() {
  if (existsSync(dataDir)) return
  console.log('understudy: simulating a day, once: its data stays in data/dev')
  mkdirSync(join(root, 'data'), { recursive: true })
  const directory = mkdtempSync(join(root, 'data/dev-'))
  try {
    const demo = await startDemo(directory, stopped)
    await demo.stop()
    renameSync(demo.dataDir, dataDir)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** The service as a process, one at a time, on the same ports. */
class Service {
  /** Resolves when it listens, or has ended. */
  isReady
  #child
  #ended
  #isStopping = false

  constructor({ port, adminPort }) {
    this.port = port
    this.adminPort = adminPort
  }

  start() {
    const settings = {
      port: this.port,
      'admin-port': this.adminPort,
      'data-dir': dataDir,
      'models-dir': join(dataDir, 'models'),
    }
    const child = spawn(
      process.execPath,
      [
        ...(flags.inspect ? ['--inspect'] : []),
        // However this process ends.
        ...['--import', pathToFileURL(join(root, 'dist/base/end-with-parent.js')).href],
        join(root, 'dist/cli/main.js'),
        'serve',
        ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    this.#child = child
    this.#isStopping = false
    child.once('close', () => {
      if (this.#isStopping || stopped.signal.aborted) return
      console.log('understudy: the service has ended, and starts again after the next change')
      console.log(
        'understudy: if it refuses its data, which another version may have written, remove data/dev',
      )
    })
    this.#ended = new Promise((done) => child.once('close', done))
    this.isReady = new Promise((done) => {
      child.stdout.on('data', (chunk) => {
        process.stdout.write(chunk)
        if (String(chunk).includes('"msg":"listening"')) done()
      })
      child.once('close', () => done())
    })
  }

  async restart() {
    await this.stop()
    if (!stopped.signal.aborted) this.start()
  }

  async stop() {
    this.#isStopping = true
    this.#child.kill('SIGTERM')
    await this.#ended
  }
}

/** A plugin that answers `/api` with the fixtures, and loads the page again when they change. */
function fixtures() {
  return {
    name: 'fixtures',
    configureServer({ middlewares, environments }) {
      middlewares.use('/api', (request, response, next) => {
        const respond = async () => {
          const { fixtureOf, fixtureTime } = await environments.ssr.runner.import(fixturesModule)
          const { pathname, searchParams } = new URL(request.url, 'http://localhost')
          if (pathname === '/events') return sendHeartbeats(response, fixtureTime)
          const fixture = fixtureOf(pathname, searchParams)
          response.statusCode = fixture === undefined ? 404 : 200
          const isImage = Buffer.isBuffer(fixture)
          response.setHeader('Content-Type', isImage ? 'image/jpeg' : 'application/json')
          const unknown = { error: { code: 'not_found', message: 'there is no fixture of this path' } }
          response.end(isImage ? fixture : JSON.stringify(fixture ?? unknown))
        }
        respond().catch(next)
      })
    },
    hotUpdate({ file, server }) {
      if (!file.includes('/test/')) return
      server.environments.ssr.runner.clearCache()
      server.ws.send({ type: 'full-reload' })
    },
  }
}

/** The stream of events of a service in which nothing happens. */
function sendHeartbeats(response, time) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const beat = () =>
    response.write(`event: heartbeat\ndata: ${JSON.stringify({ time, interval_ms: heartbeatMs })}\n\n`)
  const timer = setInterval(beat, heartbeatMs)
  response.once('close', () => clearInterval(timer))
  beat()
}

if (flags.fixtures) await develop({ plugins: [fixtures()] })
else await developWithService()
