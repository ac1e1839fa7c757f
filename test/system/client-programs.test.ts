/**
 * The complete clients in docs/examples, in JavaScript and Python, as services against a real server: rows and images that
 * it refuses, a server and a client that are killed, and clocks that differ. No post and no response may be lost.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { hourMs } from '../../src/base/index.js'
import { cycleIdOf, jsonBodyBytesMax, type CycleResponse } from '../../src/contract/index.js'
import { candidate, reading, snapshot } from '../helpers/bodies.js'
import { linkClient } from '../helpers/client-package.js'
import { smallJpeg } from '../harness/jpeg.js'
import { nginxMissing, startNginx } from '../helpers/nginx.js'
import { projectDir } from '../helpers/project.js'
import { scratchDir, started } from '../helpers/servers.js'

function programOf(file: string): string {
  return readFileSync(join(projectDir, 'docs/examples', file), 'utf8')
}

/** Five minutes take half a second, from a time in the past on. */
const fastClocks = {
  'clock.js': `
    import timers from 'node:timers/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const now = Date.now, sleep = timers.setTimeout, startedAt = now(), speed = 600
    Date.now = () => startedAt - Number(process.env.AGO_MS) + (now() - startedAt) * speed
    timers.setTimeout = (ms, ...rest) => sleep(ms / speed, ...rest)
    syncBuiltinESMExports()`,
  'sitecustomize.py': [
    'import os, time',
    'now, sleep, started_at, speed = time.time, time.sleep, time.time(), 600',
    'ago = float(os.environ.get("AGO_MS", 0)) / 1000',
    'time.time = lambda: started_at - ago + (now() - started_at) * speed',
    'time.sleep = lambda s: sleep(s / speed)',
  ].join('\n'),
}

// Debian's package python3-requests belongs to this one.
const python = '/usr/bin/python3'
const hasRequests = spawnSync(python, ['-c', 'import requests']).status === 0
if (!hasRequests) console.log('skipped: the client in Python needs python3-requests')

interface Program {
  readonly name: string
  readonly files: readonly string[]
  readonly command: readonly [string, ...string[]]
  /** Makes the interpreter one without the package that the program needs, which then ends with `packageProblem`. */
  readonly withoutPackage: string
  readonly packageProblem: string
  /** The stored responses, oldest first. */
  readonly responses: string
  /** How many cycles have no response yet. */
  readonly waitingCount: (queue: DatabaseSync) => number
}

const programs: readonly Program[] = [
  {
    name: 'JavaScript',
    files: ['client.js', 'queue.js'],
    command: [process.execPath, '--import', './clock.js', 'client.js'],
    withoutPackage: '--no-experimental-sqlite',
    packageProblem: `queue.js needs Node 22.13 or later, and this is ${process.version}`,
    responses: 'SELECT response FROM responses ORDER BY cycle_id',
    waitingCount: (queue) =>
      countOf(queue, 'posts WHERE sent_in IS NOT NULL AND sent_in NOT IN (SELECT cycle_id FROM responses)'),
  },
  {
    name: 'Python',
    files: ['client.py'],
    command: [python, 'client.py'],
    withoutPackage: '-S',
    packageProblem: 'client.py needs the package requests: pip install requests',
    responses: 'SELECT response FROM cycles WHERE response IS NOT NULL ORDER BY cycle_id',
    waitingCount: (queue) => countOf(queue, 'cycles WHERE body IS NOT NULL'),
  },
]

function countOf(queue: DatabaseSync, table: string): number {
  return Number(queue.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])
}

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function ended(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('exit', resolve))
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20)
}

/**
 * A clock that the test sets: the file `time` has its milliseconds, and those of a clock that is never set, which a sleep is
 * measured with. Each sleep writes when it begins, by the latter, as a line of `sleeps`.
 */
const setClocks = {
  'clock.js': `
    import { appendFileSync, readFileSync } from 'node:fs'
    import timers from 'node:timers/promises'
    import { syncBuiltinESMExports } from 'node:module'
    const read = () => readFileSync('time', 'utf8').split(' ').map(Number), sleep = timers.setTimeout
    Date.now = () => read()[0]
    timers.setTimeout = async (ms) => {
      const start = read()[1]
      appendFileSync('sleeps', start + '\\n')
      while (read()[1] < start + ms) await sleep(5)
    }
    syncBuiltinESMExports()`,
  'sitecustomize.py': [
    'import time',
    'sleep = time.sleep',
    'read = lambda: [float(text) for text in open("time").read().split()]',
    'time.time = lambda: read()[0] / 1000',
    'def wait(s):',
    '    start = read()[1]',
    '    with open("sleeps", "a") as file: file.write(f"{start}\\n")',
    '    while read()[1] < start + s * 1000: sleep(0.005)',
    'time.sleep = wait',
  ].join('\n'),
}

/** A program in a directory of its own, with its queue and a crawler that fills it. */
interface Run {
  readonly project: string
  readonly startMs: number
  readonly queue: DatabaseSync
  /** Starts the program, with a clock that is behind. */
  readonly start: (agoMs: number) => ChildProcess
  readonly crawl: (postNo: number, fields?: object, counters?: object) => void
  /** The post leaves the queue. */
  readonly remove: (postNo: number) => void
  readonly addImage: (postNo: number, position: number, jpeg: Uint8Array) => void
  readonly postOf: (postNo: number) => Record<string, unknown>
  /** The responses that it has stored, oldest first. */
  readonly stored: () => CycleResponse[]
  /** Whether the newest response has exactly these posts as scored. */
  readonly hasScored: (...posts: number[]) => boolean
  /** What the program has written. */
  readonly errorText: () => string
}

/** The clock of a project with `setClocks`. It counts from a boundary an hour ago. */
class SetClock {
  readonly project: string
  readonly #startMs = (Math.floor(Date.now() / 300_000) - 12) * 300_000
  #minute: number
  #elapsedMs = 0

  constructor(project: string, minute: number) {
    this.project = project
    this.#minute = minute
    this.#write()
  }

  /** Time passes. Resolves when the program has done what is due, and sleeps. */
  async advanceTo(minute: number): Promise<void> {
    this.#elapsedMs += (minute - this.#minute) * 60_000
    this.#minute = minute
    this.#write()
    await this.isIdle()
  }

  /** The clock is set, and six seconds pass. */
  async set(minute: number): Promise<void> {
    this.#minute = minute
    await this.advanceTo(minute + 0.1)
  }

  async isIdle(): Promise<void> {
    const file = join(this.project, 'sleeps')
    const last = (): string | undefined => readFileSync(file, 'utf8').trim().split('\n').at(-1)
    await until(() => existsSync(file) && Number(last()) === this.#elapsedMs)
  }

  idsOf(minute: number): { readonly cycle_id: string; readonly cycle_time: string } {
    const ms = this.#startMs + minute * 60_000
    return { cycle_id: cycleIdOf(ms), cycle_time: new Date(ms).toISOString() }
  }

  minuteOf({ cycle_time }: CycleResponse): number {
    return (Date.parse(cycle_time) - this.#startMs) / 60_000
  }

  #write(): void {
    const file = join(this.project, 'time')
    writeFileSync(`${file}.new`, `${this.#startMs + this.#minute * 60_000} ${this.#elapsedMs}`)
    renameSync(`${file}.new`, file)
  }
}

function projectOf({ files }: Program, clocks: Readonly<Record<string, string>> = fastClocks): string {
  const project = scratchDir()
  linkClient(project)
  // A password of somebody else for the host of the service.
  writeFileSync(join(project, '.netrc'), 'machine 127.0.0.1 login someone password other\n', { mode: 0o600 })
  for (const file of files) writeFileSync(join(project, file), programOf(file))
  for (const [file, text] of Object.entries({ ...clocks, 'package.json': '{"type":"module"}' }))
    writeFileSync(join(project, file), text)
  return project
}

/** Resolves when the program that it has started has its queue. */
async function run(
  program: Program,
  project: string,
  env: Readonly<Record<string, string>>,
): Promise<Run & { readonly child: ChildProcess }> {
  let errorText = ''
  const start = (agoMs: number): ChildProcess => {
    const [command, ...args] = program.command
    const child = spawn(command, args, {
      cwd: project,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOME: project, PYTHONPATH: project, ...env, AGO_MS: String(agoMs) },
    })
    for (const output of [child.stdout, child.stderr])
      output.on('data', (data: Buffer) => {
        errorText += data.toString()
        process.stderr.write(data)
      })
    children.push(child)
    return child
  }
  const startMs = Date.now() - 48 * hourMs
  const child = start(48 * hourMs)
  const queue = new DatabaseSync(join(project, 'queue.sqlite'), { timeout: 10_000 })
  onTestFinished(() => queue.close())
  const tables = `sqlite_master WHERE name IN ('posts', 'images', 'responses', 'cycles')`
  await until(() => countOf(queue, tables) === 3)
  const stored = (): CycleResponse[] =>
    queue
      .prepare(program.responses)
      .all()
      .map(({ response }) => JSON.parse(String(response)) as CycleResponse)
  return {
    project,
    startMs,
    queue,
    start,
    child,
    crawl: (postNo, fields = {}, counters = {}) => {
      const post = { ...candidate('g', postNo), ...fields }
      const row = { ...reading('g', postNo, startMs - hourMs), ...counters }
      queue
        .prepare('INSERT INTO posts (gall_id, post_no, candidate, reading) VALUES (?, ?, ?, ?)')
        .run('g', postNo, JSON.stringify(post), JSON.stringify(row))
    },
    remove: (postNo) => {
      const row = { gall_id: 'g', post_no: postNo, reason: 'hidden', decided_at: '2026-03-02T12:05:00+09:00' }
      queue.prepare('UPDATE posts SET removal = ? WHERE post_no = ?').run(JSON.stringify(row), postNo)
    },
    addImage: (postNo, position, jpeg) => {
      queue
        .prepare('INSERT INTO images (gall_id, post_no, position, jpeg) VALUES (?, ?, ?, ?)')
        .run('g', postNo, position, jpeg)
    },
    postOf: (postNo) => queue.prepare('SELECT * FROM posts WHERE post_no = ?').get(postNo) ?? {},
    stored,
    hasScored: (...posts) => {
      const scored = stored()
        .at(-1)
        ?.results.filter(({ status }) => status === 'scored')
      const numbers = scored?.map(({ post_no }) => post_no).toSorted((a, b) => a - b)
      return JSON.stringify(numbers) === JSON.stringify(posts)
    },
    errorText: () => errorText,
  }
}

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => boolean

/** The address of a gateway, which forwards the requests that `handle` does not respond to. */
async function gatewayTo({ port }: { readonly port: number }, handle: Handler): Promise<string> {
  const gateway = http.createServer((request, response) => {
    if (handle(request, response)) {
      request.resume()
      return
    }
    const { method, url: path, headers } = request
    const forwarded = http.request({ port, method, path, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 0, reply.headers)
      reply.pipe(response)
    })
    request.pipe(forwarded)
  })
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  onTestFinished(() => {
    gateway.close()
    gateway.closeAllConnections()
  })
  return `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
}

describe.each(programs)('the client in $name', (program) => {
  const { files, waitingCount } = program
  const isMissing = files.includes('client.py') && !hasRequests

  test
    .skipIf(isMissing)
    .each([['directly', false] as const, ...(nginxMissing ? [] : [['behind nginx', true] as const])])(
    '%s, loses no post and no response, whatever is refused, killed or set back',
    async (_, hasNginx) => {
      const project = projectOf(program)
      // The clock of the service is three days behind as long as a file exists.
      const behind = join(project, 'behind')
      writeFileSync(
        join(project, 'server-clock.mjs'),
        `import { existsSync } from 'node:fs'
       const now = Date.now
       Date.now = () => now() - (existsSync(${JSON.stringify(behind)}) ? ${72 * hourMs} : 0)`,
      )
      const server = await started({ NODE_OPTIONS: `--import ${join(project, 'server-clock.mjs')}` })
      const nginx = hasNginx ? await startNginx(server.port) : null
      if (nginx !== null) onTestFinished(() => nginx.stop())
      const address =
        nginx === null
          ? { SCORING_URL: `http://127.0.0.1:${server.port}` }
          : {
              SCORING_URL: `https://127.0.0.1:${nginx.port}`,
              NODE_EXTRA_CA_CERTS: nginx.certFile,
              REQUESTS_CA_BUNDLE: nginx.certFile,
            }

      const { startMs, queue, start, crawl, remove, addImage, postOf, stored, hasScored, ...first } =
        await run(program, project, { ...address, SCORING_KEY: server.key })
      let { child } = first

      // Refused: a candidate, a reading, an image. The others of the same cycle are scored and stored.
      addImage(1, 1, Buffer.from('no JPEG'))
      addImage(1, 2, await smallJpeg(1))
      queue.exec('BEGIN')
      crawl(1)
      crawl(2, { source: 'nowhere' })
      crawl(3, {}, { views: -1 })
      queue.exec('COMMIT')
      await until(() => hasScored(1) && countOf(queue, 'images WHERE sent IS NULL') === 0)
      expect(postOf(2)['sent_in']).toBeNull()
      expect(postOf(2)['problem']).toMatch(/^candidates\[1\]\.source /)
      expect(postOf(3)).toMatchObject({ reading: null, problem: null })
      const images = queue.prepare('SELECT problem FROM images ORDER BY position').all()
      expect(images.map(({ problem }) => problem)).toEqual([images[0]?.['problem'], null])
      expect(images[0]?.['problem']).toContain('JPEG')
      queue
        .prepare('UPDATE posts SET reading = ? WHERE post_no = 3')
        .run(JSON.stringify(reading('g', 3, startMs - hourMs)))
      await until(() => hasScored(1, 3))

      // Killed: the server, and then the client that has written a cycle which nobody has received.
      await server.kill('SIGKILL')
      crawl(4)
      await until(() => postOf(4)['sent_in'] !== null && waitingCount(queue) > 0)
      child.kill('SIGKILL')
      await ended(child)
      await server.start()
      child = start(36 * hourMs)
      await until(() => hasScored(1, 3, 4))

      // The clock of the service is behind: the cycle waits, and is delivered when it no longer is.
      writeFileSync(behind, '')
      crawl(5)
      await server.logged(/"status":422/)
      rmSync(behind)
      await until(() => hasScored(1, 3, 4, 5))

      // The clock of the client is set back: it builds cycles whose ids the service has.
      child.kill('SIGKILL')
      await ended(child)
      const known = Date.parse(stored().at(-1)?.cycle_time ?? '')
      child = start(Date.now() - known + 4 * 300_000)
      crawl(6)
      remove(1)
      await until(() => hasScored(3, 4, 5, 6))
      const exited = ended(child)
      child.kill('SIGTERM')
      await exited

      const all = stored()
      const ids = all.map(({ cycle_id }) => cycle_id)
      expect(new Set(ids).size).toBe(ids.length)
      for (const response of all)
        expect((await server.call({ path: `/v1/scores/${response.cycle_id}` })).json).toEqual(response)
      // Post 2, which was refused. A conflict is no problem of a post.
      expect(queue.prepare('SELECT post_no FROM posts WHERE sent_in IS NULL').all()).toEqual([{ post_no: 2 }])
      expect(countOf(queue, 'posts WHERE problem IS NOT NULL')).toBe(1)
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'halves a cycle that is too large, sets a candidate aside that is too large alone, and sends whole cycles again',
    async () => {
      const server = await started()
      const { queue, crawl, postOf, hasScored, stored } = await run(program, projectOf(program), {
        SCORING_URL: `http://127.0.0.1:${server.port}`,
        SCORING_KEY: server.key,
      })
      queue.exec('BEGIN')
      for (const postNo of [1, 2, 3, 4])
        crawl(postNo, postNo === 2 ? { body_html: 'x'.repeat(jsonBodyBytesMax) } : {})
      queue.exec('COMMIT')
      await until(() => hasScored(1, 3, 4))
      expect(postOf(2)['sent_in']).toBeNull()
      expect(postOf(2)['problem']).toMatch(/^candidates\[0\] .*16777216 bytes/)
      // Posts that wait for a later cycle have no reading in the earlier ones.
      expect(stored().flatMap(({ counts }) => (counts.not_scored === 0 ? [] : [counts]))).toEqual([])

      queue.exec('BEGIN')
      for (const postNo of [5, 6, 7, 8]) crawl(postNo)
      queue.exec('COMMIT')
      await until(() => hasScored(1, 3, 4, 5, 6, 7, 8))
      expect(countOf(queue, '(SELECT DISTINCT sent_in FROM posts WHERE post_no >= 5)')).toBe(1)
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'keeps what a gateway refuses with an error of its own, redirects, or refuses for an hour, and sends snapshots',
    async () => {
      const server = await started()
      let isUnrouted = true
      let refusedCount = 0
      const methods = new Set<string | undefined>()
      const url = await gatewayTo(server, (request, response) => {
        methods.add(request.method)
        if (!isUnrouted) return false
        if (refusedCount++ === 0) response.writeHead(503, { 'Retry-After': '3600' }).end()
        else if (refusedCount === 2) response.writeHead(301, { Location: '/elsewhere' }).end()
        else {
          response.writeHead(404, { 'Content-Type': 'application/json' })
          response.end('{"error":{"code":"no_route","message":"no route","fields":[]}}')
        }
        return true
      })
      const { startMs, queue, crawl, addImage, postOf, hasScored, stored } = await run(
        program,
        projectOf(program),
        { SCORING_URL: url, SCORING_KEY: server.key },
      )
      const snap = (postNo: number, fields: object): void =>
        void queue
          .prepare('UPDATE posts SET snapshot = ? WHERE post_no = ?')
          .run(JSON.stringify({ ...snapshot('g', postNo, startMs - hourMs), ...fields }), postNo)
      addImage(1, 1, await smallJpeg(1))
      queue.exec('BEGIN')
      crawl(1)
      crawl(2)
      snap(1, { hit_cnt: 700 })
      snap(2, { hit_cnt: -1 })
      queue.exec('COMMIT')
      await until(() => refusedCount > 3)
      expect([countOf(queue, 'images WHERE sent IS NULL'), stored()]).toEqual([1, []])
      isUnrouted = false
      await until(() => hasScored(1, 2) && countOf(queue, 'images WHERE sent IS NULL') === 0)
      expect(queue.prepare('SELECT problem FROM images').get()).toEqual({ problem: null })
      // A snapshot that the service refuses is dropped, like a reading.
      expect(postOf(2)).toMatchObject({ snapshot: null, problem: null })
      expect(stored().at(-1)?.counts.candidate_scores).toBe(1)
      expect([...methods].toSorted()).toEqual(['POST', 'PUT'])
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'sends a cycle at each boundary of its clock, whichever way that is set, and none before',
    async () => {
      const server = await started()
      const clock = new SetClock(projectOf(program, setClocks), 1)
      const { crawl, postOf, stored, errorText } = await run(program, clock.project, {
        SCORING_URL: `http://127.0.0.1:${server.port}`,
        SCORING_KEY: server.key,
      })
      const minutes = (): number[] => stored().map((response) => clock.minuteOf(response))
      await clock.isIdle()
      expect(minutes()).toEqual([])
      crawl(1)
      await clock.advanceTo(5)
      expect(minutes()).toEqual([5])
      await clock.advanceTo(9.999)
      expect(minutes()).toEqual([5])
      // The machine was suspended: this cycle is late, and the next one is not.
      await clock.advanceTo(17)
      expect(minutes()).toEqual([5, 10])
      // An id that has a response is not used again, and its posts are not sent again.
      await clock.set(4.8)
      await clock.advanceTo(5)
      await clock.advanceTo(10)
      expect(minutes()).toEqual([5, 10])
      expect(postOf(1)['sent_in']).toBe(clock.idsOf(5).cycle_id)
      expect(errorText()).not.toContain('failed')
      await clock.advanceTo(15)
      expect(minutes()).toEqual([5, 10, 15])
      await clock.set(32)
      expect(minutes()).toEqual([5, 10, 15, 20])
      await clock.advanceTo(35)
      expect(minutes()).toEqual([5, 10, 15, 20, 35])
      await clock.set(22)
      await clock.advanceTo(24.999)
      expect(minutes()).toEqual([5, 10, 15, 20, 35])
      await clock.advanceTo(25)
      expect(minutes()).toEqual([5, 10, 15, 20, 25, 35])
    },
    120_000,
  )

  test.skipIf(isMissing).each([
    [72, 'those posts in a new cycle at once', false],
    [10, 'that cycle when its time has come', true],
  ])(
    'whose clock was ahead for a cycle, by %i hours, sends the next cycle and the images at once, and %s',
    async (hours, _what, isKept) => {
      const clock = new SetClock(projectOf(program, setClocks), hours * 60 + 1)
      const later = join(clock.project, 'later')
      writeFileSync(
        join(clock.project, 'server-clock.mjs'),
        `import { existsSync } from 'node:fs'
       const now = Date.now
       Date.now = () => now() + (existsSync(${JSON.stringify(later)}) ? ${12 * hourMs} : 0)`,
      )
      const server = await started({ NODE_OPTIONS: `--import ${join(clock.project, 'server-clock.mjs')}` })
      const { queue, crawl, addImage, postOf, hasScored, stored } = await run(program, clock.project, {
        SCORING_URL: `http://127.0.0.1:${server.port}`,
        SCORING_KEY: server.key,
      })
      const ahead = hours * 60
      await clock.isIdle()
      crawl(1)
      addImage(1, 1, await smallJpeg(1))
      await clock.advanceTo(ahead + 5)
      expect([countOf(queue, 'images WHERE sent IS NULL'), stored()]).toEqual([0, []])
      await clock.set(6)
      crawl(2)
      addImage(2, 1, await smallJpeg(2))
      await clock.advanceTo(10)
      expect([hasScored(2), countOf(queue, 'images WHERE sent IS NULL')]).toEqual([true, 0])
      expect(postOf(1)['sent_in'] !== null).toBe(isKept)
      if (isKept) {
        writeFileSync(later, '')
        await clock.set(ahead + 6)
        await clock.advanceTo(ahead + 10)
      } else await clock.advanceTo(15)
      expect(hasScored(1, 2)).toBe(true)
      expect(stored().some((response) => clock.minuteOf(response) === ahead + 5)).toBe(isKept)
      expect(countOf(queue, 'posts WHERE problem IS NOT NULL')).toBe(0)
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'sends a cycle again as soon as the clock of the service, which is a second behind, has its time',
    async () => {
      let attemptCount = 0
      const server = await started()
      const url = await gatewayTo(server, (_request, response) => {
        if (attemptCount++ > 0) return false
        response.writeHead(422, { 'Content-Type': 'application/json', 'Retry-After': '1' })
        const fields = [{ path: 'cycle_time', problem: 'must not be in the future' }]
        response.end(JSON.stringify({ error: { code: 'unprocessable', message: 'm', fields } }))
        return true
      })
      const clock = new SetClock(projectOf(program, setClocks), 1)
      const { stored } = await run(program, clock.project, { SCORING_URL: url, SCORING_KEY: server.key })
      await clock.isIdle()
      await clock.advanceTo(5)
      await clock.advanceTo(5.1)
      expect(stored().map((response) => clock.minuteOf(response))).toEqual([5])
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'sends the posts and removals of a cycle in the next one if the service has another cycle with that id',
    async () => {
      const server = await started()
      const clock = new SetClock(projectOf(program, setClocks), 1)
      const { queue, crawl, remove, postOf, hasScored, stored } = await run(program, clock.project, {
        SCORING_URL: `http://127.0.0.1:${server.port}`,
        SCORING_KEY: server.key,
      })
      await clock.isIdle()
      for (const postNo of [1, 2]) crawl(postNo)
      await clock.advanceTo(5)
      const { cycle_id, cycle_time } = clock.idsOf(10)
      // The conflict names the row in which the bodies differ.
      const lists = { candidates: [candidate('g', 9)], engagement: [], candidate_scores: [], removals: [] }
      expect((await server.postCycle({ cycle_id, cycle_time, ...lists })).status).toBe(200)
      crawl(3)
      remove(1)
      await clock.advanceTo(10)
      expect(stored().map((response) => clock.minuteOf(response))).toEqual([5])
      await clock.advanceTo(15)
      expect(hasScored(2, 3)).toBe(true)
      const next = clock.idsOf(15).cycle_id
      expect([postOf(3)['sent_in'], postOf(1)['removed_in']]).toEqual([next, next])
      expect(countOf(queue, 'posts WHERE problem IS NOT NULL')).toBe(0)
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'sends the removals of a refused cycle in the next one',
    async () => {
      const server = await started()
      const { queue, crawl, remove, postOf, hasScored, stored } = await run(program, projectOf(program), {
        SCORING_URL: `http://127.0.0.1:${server.port}`,
        SCORING_KEY: server.key,
      })
      queue.exec('BEGIN')
      for (const postNo of [1, 2]) crawl(postNo)
      queue.exec('COMMIT')
      await until(() => hasScored(1, 2))
      queue.exec('BEGIN')
      crawl(3, { source: 'nowhere' })
      remove(1)
      queue.exec('COMMIT')
      await until(() => hasScored(2))
      expect(postOf(3)['problem']).toMatch(/^candidates\[0\]\.source /)
      expect(postOf(1)['problem']).toBeNull()
      expect(stored().map(({ cycle_id }) => cycle_id)).toContain(postOf(1)['removed_in'])
    },
    120_000,
  )

  test.skipIf(isMissing)(
    'waits for a crawler that writes half of the time',
    async () => {
      const server = await started()
      const { queue, crawl, hasScored, errorText } = await run(program, projectOf(program), {
        SCORING_URL: `http://127.0.0.1:${server.port}`,
        SCORING_KEY: server.key,
      })
      const posts = Array.from({ length: 40 }, (_, index) => index + 1)
      for (const postNo of posts) {
        queue.exec('BEGIN IMMEDIATE')
        crawl(postNo)
        await sleep(40)
        queue.exec('COMMIT')
        await sleep(40)
      }
      await until(() => hasScored(...posts))
      expect(errorText()).not.toContain('locked')
    },
    120_000,
  )

  test.skipIf(isMissing)('names what it needs, and ends', () => {
    const cwd = projectOf(program)
    const ready = { SCORING_URL: 'http://127.0.0.1:1', SCORING_KEY: 'key' }
    const endOf = (args: readonly string[], env: Readonly<Record<string, string>>): readonly unknown[] => {
      const [command, ...more] = program.command
      const { status, stderr } = spawnSync(command, [...args, ...more], {
        cwd,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], AGO_MS: '0', ...env },
      })
      // Node warns that SQLite is experimental.
      const lines = stderr
        .split('\n')
        .filter((line) => line !== '' && !/SQLite is|--trace-warnings/.test(line))
      return [status, ...lines]
    }
    const [file] = files
    expect(endOf([], {})).toEqual([1, `${file} needs SCORING_URL and SCORING_KEY in the environment`])
    expect(endOf([], { SCORING_URL: ready.SCORING_URL })).toEqual([
      1,
      `${file} needs SCORING_KEY in the environment`,
    ])
    // Without the packages of the system; without SQLite, as an older Node.
    expect(endOf([program.withoutPackage], ready)).toEqual([1, program.packageProblem])
  })
})

test('the client in Python is written for Python 3.8, and for an SQLite without ->>', () => {
  const check = 'import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 8))'
  const { status, stderr } = spawnSync('/usr/bin/python3', ['-c', check], {
    input: programOf('client.py'),
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  expect(programOf('client.py')).not.toContain('->>')
})
