/**
 * How long `understudy report` takes, and how much memory: makes a store of 14 days with 2,200 pending posts (4,032 cycles,
 * 8.9 million scores) and measures the report in a process of its own. Prints the bytes that a score takes.
 *
 *   npm run build && scripts/pinned node --import ./bench/typescript.mjs bench/report-store.ts [cycles] [directory]
 *
 * The cycles are planned and packed by the service's own code; request and response are omitted, as after their expiry.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mulberry32 } from '../src/base/mulberry32.js'
import type * as Codec from '../src/codec/index.js'
import { cycleIdOf, formatInstant } from '../src/contract/time.js'
import type { CycleRequest } from '../src/contract/wire.js'
import type * as CycleRecords from '../src/cycle/cycle-record.js'
import type * as PoolFolder from '../src/pool/index.js'
import type * as Store from '../src/store/index.js'
import { builtModule, projectDir } from './project.js'

const { decodeCycle } = await builtModule<typeof Codec>('codec/index.js')
const { cycleRecordOf } = await builtModule<typeof CycleRecords>('cycle/cycle-record.js')
const { Pool } = await builtModule<typeof PoolFolder>('pool/index.js')
const { openLmdbStore } = await builtModule<typeof Store>('store/index.js')

const cycleCount = Number(process.argv[2] ?? 4032)
const [pending, turnover] = [2200, 20]
const directory = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'understudy-report-'))
const startMs = Date.UTC(2026, 2, 1, 15)
const boundaryMs = 300_000

const random = mulberry32(12345)

interface Post {
  readonly gall_id: string
  readonly post_no: number
  readonly popularity: number
  readonly createdMs: number
}

const posts: Post[] = []
let lastNo = 100_000

function bodyOf(index: number): CycleRequest {
  const atMs = startMs + index * boundaryMs
  const leaving = index === 0 ? [] : posts.splice(0, turnover)
  const entering = Array.from({ length: index === 0 ? pending : turnover }, (): Post => ({
    gall_id: `gallery${Math.floor(random() * 40)}`,
    post_no: (lastNo += 1 + Math.floor(random() * 9)),
    popularity: random(),
    createdMs: atMs - Math.floor(random() * 600_000),
  }))
  posts.push(...entering)
  return {
    cycle_id: cycleIdOf(atMs),
    cycle_time: formatInstant(atMs),
    candidates: entering.map(({ gall_id, post_no, createdMs }) => ({
      gall_id,
      post_no,
      title: 'title',
      source: 'score',
      manual_flag: 0,
      images_in_post: 0,
      created_at: formatInstant(createdMs),
      extracted_at: formatInstant(atMs - 60_000),
    })),
    engagement: posts.map(({ gall_id, post_no, popularity, createdMs }) => {
      const views = Math.floor((1 + (20 * popularity * (atMs - createdMs)) / 60_000) * (0.5 + random()))
      return {
        gall_id,
        post_no,
        observed_at: formatInstant(atMs - 30_000),
        status: 'ok',
        views,
        up: Math.floor((views * popularity) / 30),
        down: Math.floor(views / 200),
        comment_cnt: Math.floor(views / 60),
        rtb_vote: Math.floor((popularity * views) / 900),
      }
    }),
    candidate_scores: [],
    removals: leaving.map(({ gall_id, post_no, popularity }) => ({
      gall_id,
      post_no,
      decided_at: formatInstant(atMs - Math.floor(random() * boundaryMs)),
      ...(random() < popularity / 6 ? { reason: 'saved', tier: 'main' } : { reason: 'aged_out' }),
    })),
  }
}

const weights = {
  version: 'initial',
  note: '',
  setAtMs: 0,
  firstCycleMs: 0,
  weights: { views: 1, comments: 0.5, up: 0.25, downvote_share: 0.1 },
}
const none = new Float64Array(0)
const nothingEncoded = (count: number) => ({
  textEncoder: null,
  imageEncoder: null,
  textEncoded: new Float64Array(count),
  images: { count: 0, row: none, position: none, encoded: none },
})

async function fill(): Promise<number> {
  const store = await openLmdbStore({ dataDir: directory })
  const pool = new Pool()
  let recordBytes = 0
  let writing: Promise<unknown> = Promise.resolve()
  for (let index = 0; index < cycleCount; index++) {
    const json = Buffer.from(JSON.stringify(bodyOf(index)))
    const cycle = decodeCycle(json)
    const plan = pool.plan(cycle, index + 1)
    const head = Float32Array.from(
      { length: plan.scoring.count },
      (_, row) => 1 / (1 + Math.exp(-4 * ((posts[row]?.popularity ?? 0) + random() - 1))),
    )
    const other = (): Float32Array => head.map((value) => value * random())
    const heads = { p_views: head, p_comments: other(), p_up: other(), downvote_share: other() }
    const record = cycleRecordOf({
      cycle,
      plan,
      weights,
      available: nothingEncoded(plan.scoring.count),
      warnings: plan.warnings,
    })(heads)
    recordBytes += record.length
    await writing
    writing = store.appendCycle({
      cycleId: cycle.cycleId,
      cycleAtMs: cycle.cycleAt.ms,
      receivedAt: cycle.cycleTime,
      modelVersion: 'bench',
      weightsVersion: 'initial',
      requestSha256: '0'.repeat(64),
      responseSha256: '0'.repeat(64),
      response: new Uint8Array(),
      record,
      texts: null,
      request: { encoding: 'identity', bytes: new Uint8Array(), bodyBytes: 0 },
    })
    pool.publish(plan)
  }
  await writing
  await store.close()
  return recordBytes
}

const bytes = await fill()
const scoreCount = cycleCount * pending
console.log(`${cycleCount} cycles, ${scoreCount} scores: ${(bytes / scoreCount).toFixed(2)} bytes per score`)
const startedAt = performance.now()
const run = spawnSync(
  process.execPath,
  [join(projectDir, 'dist/cli/main.js'), 'report', '--data-dir', directory, '--json'],
  { encoding: 'utf8', maxBuffer: 2 ** 26, env: { ...process.env, NODE_OPTIONS: '' } },
)
const seconds = (performance.now() - startedAt) / 1000
if (run.status !== 0) throw new Error(run.stderr)
const usage = spawnSync(
  '/usr/bin/time',
  ['-f', '%M', process.execPath, join(projectDir, 'dist/cli/main.js'), 'report', '--data-dir', directory],
  { encoding: 'utf8', maxBuffer: 2 ** 26 },
)
console.log(`report: ${seconds.toFixed(1)} s, peak ${usage.stderr.trim() || 'unknown'} KiB`)
console.log(usage.stdout.split('\n').slice(0, 30).join('\n'))
if (process.argv[3] === undefined) rmSync(directory, { recursive: true })
