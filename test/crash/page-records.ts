/** A data file with records of every kind, large and small, free pages among them; and the records that reading it must return. */
import { createHash } from 'node:crypto'
import { StoreError, type Store } from '../../src/store/index.js'
import { cycleSample, weightsSample } from '../helpers/store-samples.js'
import { Random } from '../harness/rng.js'

const cycleCount = 60
const expiredCount = 20

/** By name, the SHA-256 of what is stored. */
export interface Contents {
  readonly cycles: Record<
    string,
    { readonly position: number; readonly response: string; readonly request: string }
  >
  /** Images of the gallery `g`, by post. */
  readonly images: Record<string, string>
  readonly outcomes: Record<string, string>
}

export interface Reading {
  failed: number
  absent: number
  readonly wrong: string[]
  readonly unexpected: string[]
}

/** Fills an empty store. */
export async function fill(store: Store, seed: number): Promise<Contents> {
  const random = new Random(seed)
  const noise = (bytesMax: number): Uint8Array =>
    Uint8Array.from({ length: 1 + random.below(bytesMax) }, () => random.below(256))
  const contents: Contents = { cycles: {}, images: {}, outcomes: {} }
  await store.appendWeights(1, weightsSample('initial', 0.5))
  for (let number = 1; number <= cycleCount; number++) {
    const [bytes, response] = [noise(9000), noise(6000)]
    const request = { encoding: 'identity', bytes, bodyBytes: bytes.length } as const
    const cycle = cycleSample(number, {
      request,
      response,
      record: noise(900),
    })
    const position = await store.appendCycle(cycle)
    if (number > expiredCount)
      contents.cycles[cycle.cycleId] = { position, response: hashOf(response), request: hashOf(bytes) }
    await Promise.all([...smallWrites(store, number, noise, contents)])
    if (number > cycleCount - expiredCount) await expire(store)
  }
  return contents
}

function* smallWrites(
  store: Store,
  number: number,
  noise: (bytesMax: number) => Uint8Array,
  { images, outcomes }: Contents,
): Generator<Promise<unknown>> {
  for (const gallId of ['g', 'old']) {
    const image = { sha256: noise(1), uploadedBytes: 9, width: 9, height: 9, normalised: noise(4000) }
    const sha256 = createHash('sha256').update(image.normalised).digest()
    if (gallId === 'g') images[number] = hashOf(image.normalised)
    yield store.putImage({ gallId, postNo: number, position: 1 }, { ...image, sha256, arrivedAtMs: 1000 })
    yield store.models.putEmbeddings('ab'.repeat(32), [{ key: sha256, vector: new Float32Array(64) }])
  }
  const outcome = (placementId: string, bytesMax: number) => ({
    placementId,
    arrivedAtMs: 0,
    record: Buffer.from(JSON.stringify({ noise: Buffer.from(noise(bytesMax)).toString('hex') })),
  })
  const entries = Array.from({ length: 12 }, (_, index) => outcome(`p${number}-${index}`, 150))
  // The second one reuses the pages of the first, and may not need all of them.
  entries.push(outcome(`twice-${number}`, 9000), outcome(`twice-${number}`, 3000))
  for (const { placementId, record } of entries) outcomes[placementId] = hashOf(record)
  yield store.putOutcomes(entries)
  yield store.models.putShadowScores(number, 'shadow', noise(300))
}

async function expire(store: Store): Promise<void> {
  const { expiry } = store
  await store.savePool(store.lastCycle()?.position ?? 0, new Uint8Array(5000))
  const [oldest] = expiry.oldestCycles(1)
  if (oldest !== undefined) await expiry.removeCycles([{ position: oldest.position, keepEntry: false }])
  const { rows: images } = expiry.imagesAfter(null, 1000)
  await expiry.removeImages(images.filter(({ key }) => key.gallId === 'old').slice(0, 2))
}

/** Reads all that `fill` stored, except what the test itself removes, and adds every difference to `reading`. */
export function readAllRecords(store: Store, { cycles, images, outcomes }: Contents, reading: Reading): void {
  for (const [cycleId, { position, response, request }] of Object.entries(cycles)) {
    note(reading, `cycle ${cycleId}`, cycleId, () => store.findCycle(cycleId)?.cycleId)
    note(reading, `response ${cycleId}`, response, () => hashOf(store.readResponse(cycleId)))
    note(reading, `request ${cycleId}`, request, () => hashOf(store.readRequest(position)?.bytes))
  }
  for (const [postNo, hash] of Object.entries(images)) {
    const key = { gallId: 'g', postNo: Number(postNo), position: 1 }
    note(reading, `image ${postNo}`, hash, () => hashOf(store.findImage(key)?.normalised))
  }
  for (const [placementId, hash] of Object.entries(outcomes))
    note(reading, `outcome ${placementId}`, hash, () => hashOf(store.readOutcome(placementId)))
}

function note(reading: Reading, name: string, expected: string, read: () => string | undefined): void {
  try {
    const found = read()
    if (found === undefined) reading.absent++
    else if (found !== expected) reading.wrong.push(name)
  } catch (error) {
    if (error instanceof StoreError) reading.failed++
    else reading.unexpected.push(`${name}: ${String(error)}`)
  }
}

function hashOf(bytes: Uint8Array): string
function hashOf(bytes: Uint8Array | undefined): string | undefined
function hashOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && createHash('sha256').update(bytes).digest('hex')
}
