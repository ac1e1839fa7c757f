/**
 * Flipped bits in the pages of the data file itself: first pages, branches, leaves, headers of large records, the list of
 * free pages. `PAGE_FLIPS` is the number of files (`npm run test:crash`), `PAGE_SEED` repeats a run. No flip ends or hangs
 * the process or makes it return data that was not stored; if a record cannot be found, `verify` reports it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { databasePath, openLmdbStore } from '../../src/store/index.js'
import { pageBytes } from '../../src/store/lmdb/environment.js'
import { headBytes, metaBytes, pageKind, readHead } from '../../src/store/lmdb/page-layout.js'
import { Random } from '../harness/rng.js'
import { scratchDir } from '../helpers/servers.js'
import type { Finding } from './damaged-file.js'
import { fill } from './page-records.js'

const flipCount = Number(process.env['PAGE_FLIPS'] ?? 60)
const seed = Number(process.env['PAGE_SEED'] ?? Date.now() % 1_000_000)
const replyMsMax = 30_000

/** The process that reads damaged files, one after the other. */
class Inspector {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  #stderr = ''

  constructor() {
    const args = ['--import', './test/sim/sources.mjs', 'test/crash/damaged-file.ts']
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stderr?.on('data', (text) => (this.#stderr = `${this.#stderr}${String(text)}`.slice(-2000)))
    if (this.#child.stdout === null) throw new Error('no output')
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async inspect(work: object): Promise<Finding> {
    this.#child.stdin?.write(`${JSON.stringify(work)}\n`)
    const reply = await Promise.race([this.#lines.next(), delay(replyMsMax, null, { ref: false })])
    if (reply === null) throw new Error('the process hangs')
    if (reply.done === true) throw new Error(`the damage ended the process: ${this.#stderr}`)
    return JSON.parse(reply.value) as Finding
  }

  close(): void {
    this.#child.kill('SIGKILL')
  }
}

type Kind = 'meta' | 'branch' | 'leaf' | 'overflow' | 'any'

function pagesOf(file: Buffer): Record<Kind, number[]> {
  const pages: Record<Kind, number[]> = { meta: [0, 1], branch: [], leaf: [], overflow: [], any: [] }
  for (let number = 2; number < file.length / pageBytes; number++) {
    const head = readHead(file.subarray(number * pageBytes, (number + 1) * pageBytes))
    pages.any.push(number)
    if (head.number !== number) continue
    if (head.flags === pageKind.branch) pages.branch.push(number)
    if (head.flags === pageKind.leaf) pages.leaf.push(number)
    if (head.flags === pageKind.overflow) pages.overflow.push(number)
  }
  return pages
}

/** An offset in a page of a kind: fields that LMDB uses are more frequent than the rest. */
function placeIn(kind: Kind, page: Buffer, random: Random): number {
  if (kind === 'meta') return headBytes + random.below(metaBytes - headBytes)
  if (kind === 'overflow') return random.below(headBytes)
  const { lower } = readHead(page)
  return random.chance(0.4) ? random.below(Math.min(headBytes + lower, pageBytes)) : random.below(pageBytes)
}

function damaged(
  whole: Buffer,
  pages: Record<Kind, number[]>,
  random: Random,
): { file: Buffer; place: string } {
  const file = Buffer.from(whole)
  const kind = random.pick<Kind>(['meta', 'branch', 'branch', 'leaf', 'leaf', 'leaf', 'overflow', 'any'])
  const page = random.pick(pages[kind].length > 0 ? pages[kind] : pages.any)
  const places: string[] = []
  for (let flips = random.chance(0.7) ? 1 : 4; flips > 0; flips--) {
    const start = page * pageBytes
    const at = start + placeIn(kind, file.subarray(start, start + pageBytes), random)
    const bits = random.chance(0.7) ? 1 << random.below(8) : random.below(256)
    file[at] = file[at]! ^ bits
    places.push(`${at - start}^${bits}`)
  }
  return { file, place: `${kind} page ${page}: ${places.join(', ')}` }
}

test(
  `${flipCount} files with flipped bits in their pages: no crash, no unreported loss, no data that was not stored`,
  async () => {
    const dir = scratchDir()
    const sound = join(dir, 'sound')
    const store = await openLmdbStore({ dataDir: sound })
    const expected = await fill(store, seed)
    await store.close()
    const whole = readFileSync(databasePath(sound))
    const pages = pagesOf(whole)
    expect(Math.min(...Object.values(pages).map(({ length }) => length))).toBeGreaterThan(1)
    const random = new Random(seed)
    const figures = { refused: 0, reported: 0, harmless: 0, absent: 0, failed: 0 }
    const inspector = new Inspector()
    onTestFinished(() => inspector.close())
    const inspect = async (file: Buffer, place: string): Promise<Finding> => {
      const dataDir = join(dir, 'damaged')
      mkdirSync(dataDir, { recursive: true, mode: 0o700 })
      writeFileSync(databasePath(dataDir), file)
      const finding = await inspector.inspect({ dataDir, expected }).catch((error: unknown) => {
        throw new Error(`seed ${seed}, ${place}: ${String(error)}`)
      })
      expect({ ...finding, place }).toMatchObject({ wrong: [], unexpected: [], place })
      if (finding.refusal !== null || finding.absent + finding.failed > 0)
        expect(finding.problems, `seed ${seed}, ${place}, ${JSON.stringify(finding)}`).not.toEqual([])
      return finding
    }
    expect(await inspect(whole, 'none')).toMatchObject({ problems: [], refusal: null, failed: 0, absent: 0 })
    for (let round = 0; round < flipCount; round++) {
      const { file, place } = damaged(whole, pages, random)
      const { refusal, problems, absent, failed } = await inspect(file, place)
      if (refusal !== null) figures.refused++
      else if (problems.length > 0) figures.reported++
      else figures.harmless++
      figures.absent += Number(absent > 0)
      figures.failed += Number(failed > 0)
    }
    console.log(`flipped pages: seed ${seed}, ${flipCount} files, ${JSON.stringify(figures)}`)
    expect(figures.refused).toBeGreaterThan(0)
  },
  60_000 + flipCount * 1000,
)
