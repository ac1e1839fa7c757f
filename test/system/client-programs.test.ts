/**
 * The complete clients in docs/examples, in JavaScript and Python, as services against a real server: rows and images that
 * it refuses, a server and a client that are killed, and clocks that differ. No post and no response may be lost.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { hourMs } from '../../src/base/index.js'
import { jsonBodyBytesMax, type CycleResponse } from '../../src/contract/index.js'
import { candidate, reading, snapshot } from '../helpers/bodies.js'
import { linkClient } from '../helpers/client-package.js'
import { smallJpeg } from '../helpers/jpegs.js'
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
    'time.time = lambda: started_at - float(os.environ["AGO_MS"]) / 1000 + (now() - started_at) * speed',
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
  readonly linesMax: number
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
    linesMax: 137,
    responses: 'SELECT response FROM responses ORDER BY cycle_id',
    waitingCount: (queue) =>
      countOf(queue, 'posts WHERE sent_in IS NOT NULL AND sent_in NOT IN (SELECT cycle_id FROM responses)'),
  },
  {
    name: 'Python',
    files: ['client.py'],
    command: [python, 'client.py'],
    linesMax: 99,
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

/** A program in a directory of its own, with its queue and a crawler that fills it. */
interface Run {
  readonly project: string
  readonly startMs: number
  readonly queue: DatabaseSync
  /** Starts the program, with a clock that is behind. */
  readonly start: (agoMs: number) => ChildProcess
  readonly crawl: (postNo: number, fields?: object, counters?: object) => void
  readonly addImage: (postNo: number, position: number, jpeg: Uint8Array) => void
  readonly postOf: (postNo: number) => Record<string, unknown>
  /** The responses that it has stored, oldest first. */
  readonly stored: () => CycleResponse[]
  /** Whether the newest response has exactly these posts as scored. */
  readonly hasScored: (...posts: number[]) => boolean
}

function projectOf({ files }: Program): string {
  const project = scratchDir()
  linkClient(project)
  for (const file of files) writeFileSync(join(project, file), programOf(file))
  for (const [file, text] of Object.entries({ ...fastClocks, 'package.json': '{"type":"module"}' }))
    writeFileSync(join(project, file), text)
  return project
}

/** Resolves when the program that it has started has its queue. */
async function run(
  program: Program,
  project: string,
  env: Readonly<Record<string, string>>,
): Promise<Run & { readonly child: ChildProcess }> {
  const start = (agoMs: number): ChildProcess => {
    const [command, ...args] = program.command
    const child = spawn(command, args, {
      cwd: project,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, PYTHONPATH: project, ...env, AGO_MS: String(agoMs) },
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
      return JSON.stringify(scored?.map(({ post_no }) => post_no).toSorted()) === JSON.stringify(posts)
    },
  }
}

describe.each(programs)('the client in $name', (program) => {
  const { files, linesMax, waitingCount } = program
  const isMissing = files.includes('client.py') && !hasRequests

  test(`has at most ${linesMax} lines`, () => {
    const lines = files.map((file) => programOf(file).split('\n').length - 1)
    expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(linesMax)
  })

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

      const { startMs, queue, start, crawl, addImage, postOf, stored, hasScored, ...first } = await run(
        program,
        project,
        { ...address, SCORING_KEY: server.key },
      )
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
      queue.prepare('UPDATE posts SET removal = ? WHERE post_no = 1').run(
        JSON.stringify({
          gall_id: 'g',
          post_no: 1,
          reason: 'hidden',
          decided_at: '2026-03-02T12:05:00+09:00',
        }),
      )
      await until(() => hasScored(3, 4, 5, 6))
      const exited = ended(child)
      child.kill('SIGTERM')
      await exited

      const all = stored()
      const ids = all.map(({ cycle_id }) => cycle_id)
      expect(new Set(ids).size).toBe(ids.length)
      for (const response of all)
        expect((await server.call({ path: `/v1/scores/${response.cycle_id}` })).json).toEqual(response)
      expect(countOf(queue, 'posts WHERE sent_in IS NULL')).toBe(1)
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
    'keeps what a gateway refuses with an error of its own, or for an hour, and sends snapshots',
    async () => {
      const server = await started()
      let isUnrouted = true
      let refusedCount = 0
      const gateway = http.createServer((request, response) => {
        if (isUnrouted) {
          request.resume()
          if (refusedCount++ === 0) {
            response.writeHead(503, { 'Retry-After': '3600' }).end()
            return
          }
          response.writeHead(404, { 'Content-Type': 'application/json' })
          response.end('{"error":{"code":"no_route","message":"no route","fields":[]}}')
          return
        }
        const { method, url: path, headers } = request
        const forwarded = http.request({ port: server.port, method, path, headers }, (reply) => {
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
      const { port } = gateway.address() as AddressInfo
      const { startMs, queue, crawl, addImage, postOf, hasScored, stored } = await run(
        program,
        projectOf(program),
        { SCORING_URL: `http://127.0.0.1:${port}`, SCORING_KEY: server.key },
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
    },
    120_000,
  )
})
