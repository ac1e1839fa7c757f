/**
 * Verifies a damaged data file and then opens it as a server does. Runs in a separate process, because damage may end it.
 * Reads `{ dataDir, expected }` from each line of stdin, and writes a `Finding` as a line to stdout.
 */
import { createInterface } from 'node:readline'
import { inspectRecords, openLmdbStore, openSnapshot, StoreError, type Store } from '../../src/store/index.js'
import { cycleSample, imageSample } from '../helpers/store-samples.js'
import { readAllRecords, type Contents } from './page-records.js'

export interface Case {
  readonly dataDir: string
  readonly expected: Contents
}

export interface Finding {
  /** The problems that `verify` reports. */
  readonly problems: readonly string[]
  /** Why the service refuses to start; null if it starts. */
  readonly refusal: string | null
  /** Reads that ended with a StoreError. */
  readonly failed: number
  /** Records that were not found. */
  readonly absent: number
  /** Records that differ from what was stored. */
  readonly wrong: readonly string[]
  /** Errors that are not a `StoreError`. */
  readonly unexpected: readonly string[]
}

async function problemsOf(path: string): Promise<string[]> {
  const problems: string[] = []
  try {
    const snapshot = await openSnapshot(path)
    inspectRecords(snapshot, (problem) => problems.push(problem))
    await snapshot.store.close()
  } catch (error) {
    problems.push(String(error))
  }
  return problems
}

async function inspect({ dataDir, expected }: Case): Promise<Finding> {
  const problems = await problemsOf(`${dataDir}/understudy.mdb`)
  const finding = { problems, failed: 0, absent: 0, wrong: [] as string[], unexpected: [] as string[] }
  let store: Store
  try {
    store = await openLmdbStore({ dataDir })
  } catch (error) {
    if (!(error instanceof StoreError)) finding.unexpected.push(String(error))
    return { ...finding, refusal: String(error) }
  }
  try {
    readAllRecords(store, expected, finding)
    await change(store)
    readAllRecords(store, expected, { ...finding, failed: 0, absent: 0 })
  } catch (error) {
    if (!(error instanceof StoreError)) finding.unexpected.push(String(error))
    finding.failed++
  }
  await store.close()
  return { ...finding, refusal: null }
}

/** Writes to free pages, and frees others. */
async function change(store: Store): Promise<void> {
  const { expiry } = store
  const images = expiry.imagesAfter(null, 4).rows
  await expiry.removeImages(images.filter(({ key }) => key.gallId === 'old'))
  for (let number = 900; number < 904; number++) {
    await store.appendCycle(cycleSample(number))
    await store.putImage({ gallId: 'new', postNo: number, position: 1 }, imageSample(number % 200))
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await inspect(JSON.parse(line) as Case))}\n`)
