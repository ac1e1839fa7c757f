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
import type * as CycleRecords from '../src/cycle/cycle-record.js'
import type * as PoolFolder from '../src/pool/index.js'
import type * as Store from '../src/store/index.js'
import { worldCycles } from '../test/harness/world.js'
import { builtModule, projectDir } from './project.js'

const { decodeCycle } = await builtModule<typeof Codec>('codec/index.js')
const { cycleRecordOf } = await builtModule<typeof CycleRecords>('cycle/cycle-record.js')
const { Pool } = await builtModule<typeof PoolFolder>('pool/index.js')
const { openLmdbStore } = await builtModule<typeof Store>('store/index.js')

const cycleCount = Number(process.argv[2] ?? 4032)
const [pending, turnover] = [2200, 20]
const directory = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'understudy-report-'))
const random = mulberry32(12345)
const cycles = worldCycles({ pending, turnover, snapshotShare: 0, bodyChars: 0 })

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

async function fill(): Promise<{ recordBytes: number; scoreCount: number }> {
  const store = await openLmdbStore({ dataDir: directory })
  const pool = new Pool()
  let [recordBytes, scoreCount] = [0, 0]
  let writing: Promise<unknown> = Promise.resolve()
  for (let index = 0; index < cycleCount; index++) {
    const cycle = decodeCycle(cycles.next().value.request)
    const plan = pool.plan(cycle, index + 1)
    const head = (): Float32Array => Float32Array.from({ length: plan.scoring.count }, random)
    const heads = { p_views: head(), p_comments: head(), p_up: head(), downvote_share: head() }
    const record = cycleRecordOf({
      cycle,
      plan,
      weights,
      available: nothingEncoded(plan.scoring.count),
      warnings: plan.warnings,
    })(heads)
    recordBytes += record.length
    scoreCount += plan.scoring.count
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
  return { recordBytes, scoreCount }
}

const { recordBytes, scoreCount } = await fill()
console.log(
  `${cycleCount} cycles, ${scoreCount} scores: ${(recordBytes / scoreCount).toFixed(2)} bytes per score`,
)
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
