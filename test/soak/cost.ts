/**
 * The cost of retention for cycles: alternating blocks of cycles with and without removals between them, and single
 * removals on their own, on the store of a soak test.
 */
import { openLmdbStore, type ExpiryRecords } from '../../src/store/index.js'
import type { SoakClient } from './client.js'
import type { KeptDays } from './expected-records.js'
import type { SoakTarget } from './target.js'

export interface BlockCost {
  readonly name: string
  readonly cycles: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly loopP99Ms: number
  readonly loopMaxMs: number
}

export interface RemovalCost {
  readonly name: string
  readonly transactions: number
  readonly p50Ms: number
  readonly maxMs: number
  /** The longest time that such a transaction blocked the event loop. */
  readonly loopP50Ms: number
  readonly loopMaxMs: number
}

const keepAll: KeptDays = { cycles: 0, images: 0, outcomes: 0 }
/** First removals after a block without removals: they delete the backlog. */
const catchUpCycles = 12
/** As in src/cycle/retention.ts. */
const cyclesPerRemoval = 8
const imagesPerRemoval = 32
const removalsMax = 60

/** `cycles`: number per block. */
export async function blockCosts(
  target: SoakTarget,
  client: SoakClient,
  keptDays: KeptDays,
  cycles: number,
): Promise<BlockCost[]> {
  const block = async (name: string, count: number): Promise<BlockCost> => {
    client.postMs.length = 0
    await target.server.loopDelay()
    for (let cycle = 0; cycle < count; cycle++) await client.step()
    const { ownP99Ms, ownMaxMs } = await target.server.loopDelay()
    const sorted = client.postMs.splice(0).sort((a, b) => a - b)
    const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? 0
    const [p50Ms, p99Ms, maxMs] = [at(0.5), at(0.99), at(1)]
    return { name, cycles: count, p50Ms, p99Ms, maxMs, loopP99Ms: ownP99Ms, loopMaxMs: ownMaxMs }
  }
  const costs = [await block('with removals', cycles)]
  for (let round = 0; round < 2; round++) {
    await target.keepFor(keepAll)
    costs.push(await block('without', cycles))
    await target.keepFor(keptDays)
    costs.push(await block(`backlog of ${cycles} cycles`, catchUpCycles))
    costs.push(await block('with removals', cycles))
  }
  return costs
}

/** Removes the oldest records of a data directory that no server uses. */
export async function removalCosts(dataDir: string): Promise<RemovalCost[]> {
  const store = await openLmdbStore({ dataDir })
  try {
    const { expiry } = store
    return [await cycleRemovals(expiry), await imageRemovals(expiry)]
  } finally {
    await store.close()
  }
}

async function cycleRemovals(expiry: ExpiryRecords): Promise<RemovalCost> {
  const times: Times[] = []
  while (times.length < removalsMax) {
    const oldest = [...expiry.oldestCycles(cyclesPerRemoval)]
    if (oldest.length < cyclesPerRemoval) break
    times.push(
      await timed(() => expiry.removeCycles(oldest.map(({ position }) => ({ position, keepEntry: false })))),
    )
  }
  return costOf(`${cyclesPerRemoval} cycles`, times)
}

async function imageRemovals(expiry: ExpiryRecords): Promise<RemovalCost> {
  const times: Times[] = []
  while (times.length < removalsMax) {
    const { rows: images } = expiry.imagesAfter(null, imagesPerRemoval)
    if (images.length < imagesPerRemoval) break
    times.push(await timed(() => expiry.removeImages(images)))
  }
  return costOf(`${imagesPerRemoval} images`, times)
}

interface Times {
  readonly tookMs: number
  readonly loopMs: number
}

/** `loopMs`: the longest blocking of the event loop during the removal. */
async function timed(work: () => Promise<unknown>): Promise<Times> {
  let [loopMs, done] = [0, false]
  let last = performance.now()
  const turn = (): void => {
    const now = performance.now()
    loopMs = Math.max(loopMs, now - last)
    last = now
    if (!done) setImmediate(turn)
  }
  setImmediate(turn)
  const startedAt = performance.now()
  await work()
  const tookMs = performance.now() - startedAt
  done = true
  turn()
  return { tookMs, loopMs }
}

function costOf(name: string, times: readonly Times[]): RemovalCost {
  const at = (part: number, of: keyof Times): number =>
    times.map((one) => one[of]).sort((a, b) => a - b)[Math.ceil(part * times.length) - 1] ?? 0
  return {
    name,
    transactions: times.length,
    p50Ms: at(0.5, 'tookMs'),
    maxMs: at(1, 'tookMs'),
    loopP50Ms: at(0.5, 'loopMs'),
    loopMaxMs: at(1, 'loopMs'),
  }
}
