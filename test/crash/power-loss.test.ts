/**
 * Power loss: a server under load whose writes to the data file are recorded, and then the file as a disk may have kept
 * it at many points of the record. Each must open, hold everything that was acknowledged before that point, and take a
 * write. `POWER_POINTS` points (`npm run test:crash`), `CRASH_SEED` for another load and other points.
 */
import { hash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLmdbStore, type CycleContents, type Store } from '../../src/store/index.js'
import { Random } from '../harness/rng.js'
import { ServerProcess } from '../harness/server.js'
import { smallJpeg } from '../harness/jpeg.js'
import { scratchDir } from '../helpers/servers.js'
import { CrashClient } from '../harness/http.js'
import {
  Disk,
  acknowledgementEntry,
  readRecord,
  survivals,
  type Entry,
  type Survival,
} from './disk-record.js'
import { Violation, Load, imageGallery, type Acknowledged } from './load.js'
import { compileShim, shimImpossible } from './shim.js'

const pointCount = Number(process.env['POWER_POINTS'] ?? 40)
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
/** With syncs this slow, the recording shows a response that did not wait for its sync before the end of the sync. */
const syncDelayUs = 2000
const stepCount = Math.min(30 + Math.floor(pointCount / 4), 300)

test.skipIf(shimImpossible)(
  'whatever a disk keeps of the writes that were not flushed, the database opens and holds all that was acknowledged',
  async () => {
    const { entries, acknowledgements, file } = await record()
    const figures = { points: 0, images: 0, open: 0 }
    // The record is complete: replaying all of it gives the actual file.
    const whole = new Disk()
    for (const entry of entries) whole.apply(entry)
    const replayed = Buffer.from(whole.after('all', new Random(0)))
    expect(replayed.equals(file.subarray(0, replayed.length)) && file.length === replayed.length).toBe(true)

    const random = new Random(seed)
    const first = entries.findIndex((entry) => entry.kind === 'acknowledgement')
    const points = new Set([entries.length - 1])
    while (points.size < Math.min(pointCount, entries.length - first))
      points.add(first + random.below(entries.length - first))
    const disk = new Disk()
    let acknowledgedCount = 0
    for (const [index, entry] of entries.entries()) {
      disk.apply(entry)
      if (entry.kind === 'acknowledgement') acknowledgedCount = entry.offset + 1
      if (!points.has(index)) continue
      figures.points++
      figures.open += disk.openCount
      for (const survival of disk.openCount === 0 ? (['none'] as const) : survivals) {
        await cutAt({
          index,
          survival,
          image: disk.after(survival, random),
          acknowledgements,
          acknowledgedCount,
        })
        figures.images++
      }
    }
    console.log(
      `power loss: seed ${seed}, ${entries.length} entries, ${acknowledgements.length} responses, ${JSON.stringify(figures)}`,
    )
  },
  60_000 + pointCount * 5000,
)

/** A server under load, killed at the end; its writes, its responses, and its file. */
async function record(): Promise<{ entries: Entry[]; acknowledgements: Acknowledged[]; file: Buffer }> {
  const dir = scratchDir()
  const dataDir = mkdtempSync(join(dir, 'data-'))
  const [path, log] = [join(dataDir, 'understudy.mdb'), join(dir, 'writes')]
  const server = new ServerProcess(
    {
      LD_PRELOAD: compileShim('crash/native/record_writes.cc', dir),
      WATCHED_FILE: path,
      WRITES_LOG: log,
      SYNC_DELAY_US: String(syncDelayUs),
    },
    { dataDir },
  )
  const acknowledgements: Acknowledged[] = []
  const jpegs = await Promise.all(Array.from({ length: 12 }, (_, index) => smallJpeg(20 * index)))
  const load = new Load(seed, jpegs, (acknowledged) => {
    appendFileSync(log, acknowledgementEntry(acknowledgements.length))
    acknowledgements.push(acknowledged)
  })
  await server.start()
  const client = new CrashClient(server)
  try {
    for (let step = 0; step < stepCount; step++) await load.step(client)
  } finally {
    client.close()
    await server.kill('SIGKILL')
  }
  const entries = readRecord(readFileSync(log))
  return { entries, acknowledgements, file: readFileSync(path) }
}

interface Cut {
  readonly index: number
  readonly survival: Survival
  readonly image: Uint8Array
  readonly acknowledgements: readonly Acknowledged[]
  /** How many of them were recorded before the cut. */
  readonly acknowledgedCount: number
}

async function cutAt({ index, survival, image, acknowledgements, acknowledgedCount }: Cut): Promise<void> {
  const base = statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() === true ? '/dev/shm' : tmpdir()
  const dataDir = mkdtempSync(join(base, 'understudy-cut-'))
  try {
    writeFileSync(join(dataDir, 'understudy.mdb'), image)
    const store = await openLmdbStore({ dataDir })
    try {
      const held = acknowledgements.slice(0, acknowledgedCount)
      for (const acknowledged of held) expectKept(store, acknowledged)
      readWhole(store)
      await store.appendCycle(probe)
      for (const acknowledged of held) expectKept(store, acknowledged)
      readWhole(store)
    } finally {
      await store.close()
    }
  } catch (error) {
    throw new Error(`CRASH_SEED=${seed}, cut at ${index}, kept ${survival}: ${String(error)}`, {
      cause: error,
    })
  } finally {
    rmSync(dataDir, { recursive: true })
  }
}

function expectKept(store: Store, acknowledged: Acknowledged): void {
  if (!isKept(store, acknowledged))
    throw new Violation(`gone: ${acknowledged.kind} ${JSON.stringify(acknowledged)}`)
}

function isKept(store: Store, acknowledged: Acknowledged): boolean {
  switch (acknowledged.kind) {
    case 'cycle':
      return acknowledged.response.equals(store.readResponse(acknowledged.cycleId) ?? new Uint8Array())
    case 'image': {
      const [postNo, position] = acknowledged.path.split('/').slice(-2).map(Number) as [number, number]
      const stored = store.findImage({ gallId: imageGallery, postNo, position })
      return stored !== undefined && acknowledged.sha256.equals(stored.sha256)
    }
    case 'outcome': {
      const record = store.readOutcome(acknowledged.placementId)
      if (record === undefined) return false
      // A later record may have replaced it already.
      const { views_at_placement: revision } = JSON.parse(Buffer.from(record).toString()) as {
        views_at_placement: number
      }
      return revision >= acknowledged.revision
    }
    case 'weights':
      return [...store.listWeights()].some(({ version }) => version === acknowledged.version)
  }
}

/** Reads every record, so that a page of something else shows. */
function readWhole(store: Store): void {
  let position = 0
  for (const cycle of store.tail(1)) {
    if (cycle.position !== ++position) throw new Violation(`position ${cycle.position} after ${position - 1}`)
    if (store.readRequest(position) === undefined || store.readResponse(cycle.cycleId) === undefined)
      throw new Violation(`cycle ${cycle.cycleId} is not whole`)
    store.readRecord(position)
  }
  for (const position of store.savedPools()) store.readSavedPool(position)
  for (const key of store.imageKeys()) store.findImage(key)
}

const probeResponse = new Uint8Array(200_000).fill(2)
const probe: CycleContents = {
  cycleId: '20300101T0000',
  cycleAtMs: 1_893_423_600_000,
  receivedAt: '2030-01-01T00:00:00Z',
  modelVersion: 'm',
  weightsVersion: 'w',
  record: new Uint8Array(9),
  texts: null,
  request: { encoding: 'identity', bytes: new Uint8Array(100_000).fill(1), bodyBytes: 100_000 },
  requestSha256: '0'.repeat(64),
  responseSha256: hash('sha256', probeResponse),
  response: probeResponse,
}
