/**
 * Three processes of one environment on a virtual clock, with a journal that has every fault of a replicated database, and
 * processes that are killed, stopped and continued. Whatever happens: an acknowledged cycle keeps its response, no position is
 * missing, and in the end all views are equal. JOURNAL_SEEDS sets the number of runs, JOURNAL_SEED repeats one: the store's
 * pauses and its clock are the virtual ones too, so that a seed always takes the same steps.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { createMemoryContents, memoryParts, type MemoryContents } from '../../../test/helpers/memory-store.js'
import '../../../test/helpers/poisoned-store.js'
import { Random } from '../../../test/harness/rng.js'
import { SimProcess, SimServers, World, type RandomBelow } from '../../../test/helpers/sim-journal.js'
import { cycleIdAt, cycleSample } from '../../../test/helpers/store-samples.js'
import { openJournalStore, type JournalStore } from './journal-store.js'

const seedCount = Number(process.env['JOURNAL_SEEDS'] ?? 60)
const onlySeed = process.env['JOURNAL_SEED']
const processCount = 3
const faultyMs = 240_000
const calmMs = 90_000

/** The world of the run in progress. */
let world: World

vi.mock(import('node:timers/promises'), async (original) => ({
  ...(await original()),
  setTimeout: <Value>(ms?: number, value?: Value) => world.wait(ms ?? 1).then(() => value as Value),
}))

afterEach(() => {
  vi.restoreAllMocks()
})

interface Node {
  readonly name: string
  contents: MemoryContents
  process: SimProcess
  store: JournalStore | null
}

class Simulation {
  readonly world = new World()
  readonly random: RandomBelow
  readonly servers: SimServers
  readonly nodes: Node[] = []
  /** Responses that a client has received, by number of the cycle. */
  readonly acknowledged = new Map<number, string>()
  attempts = 0
  failure: unknown = null
  #next = 1
  #isOver = false
  /** The clock of the database may jump: then the lease does not exclude stale reads. */
  readonly jumps: boolean

  constructor(seed: number) {
    const random = new Random(seed)
    this.random = (limit) => random.below(limit)
    this.servers = new SimServers(this.world, this.random)
    this.jumps = seed % 4 === 0
    for (let i = 0; i < processCount; i++) {
      const process = new SimProcess(this.world)
      this.nodes.push({ name: `node${i}`, contents: createMemoryContents(), process, store: null })
    }
  }

  async run(): Promise<void> {
    world = this.world
    vi.spyOn(performance, 'now').mockImplementation(() => this.world.nowMs)
    this.nodes.forEach((node) => this.start(node))
    for (let i = 0; i < 2; i++) this.client().catch((error: unknown) => (this.failure ??= error))
    this.servers.faultPercent = this.random(30)
    void this.disturb()
    await this.world.runUntil(faultyMs)
    this.#isOver = true
    this.servers.faultPercent = 0
    this.servers.canReplicate = true
    for (const node of this.nodes) {
      node.process.resume()
      if (node.store === null) this.start(node)
    }
    await this.world.runUntil(faultyMs + calmMs)
  }

  isOver(): boolean {
    return this.#isOver
  }

  start(node: Node): void {
    // One that is still opening its store would be a second process on the same view.
    node.process.isDead = true
    node.process = new SimProcess(this.world)
    const { process } = node
    // Without a model it takes over last, and leaves again. In the end all have one.
    const canServe = this.random(3) > 0
    const attempt = async (): Promise<void> => {
      for (;;) {
        try {
          const store = await openJournalStore({
            journal: this.servers.journalFor(process),
            view: memoryParts({ contents: node.contents, beforeWrite: () => process.in(Promise.resolve()) }),
            name: node.name,
            now: process.now,
            sleep: process.sleep,
            log: silentLog,
            canServe: () => Promise.resolve(canServe || this.isOver()),
          })
          if (node.process === process) node.store = store
          return
        } catch {
          await process.in(this.world.wait(500))
        }
      }
    }
    void attempt()
  }

  /** Sends the next cycle, or repeats one, until a process acknowledges it. */
  async client(): Promise<void> {
    while (!this.isOver()) {
      const number = this.random(4) === 0 ? 1 + this.random(this.#next) : this.#next++
      for (let tries = 0; tries < 20 && !this.isOver(); tries++) {
        await this.world.wait(100 + this.random(1000))
        const node = this.nodes[this.random(processCount)]!
        const { store, process } = node
        if (store === null || process.isDead) continue
        const given = await Promise.race([
          this.call(node, store, number),
          this.world.wait(30_000).then(() => null),
        ])
        if (given === null) continue
        const known = this.acknowledged.get(number)
        expect(given, `cycle ${number} keeps its response`).toBe(known ?? given)
        this.acknowledged.set(number, given)
        break
      }
    }
  }

  /** The response; null: 503. */
  async call({ process }: Node, store: JournalStore, number: number): Promise<string | null> {
    await process.in(Promise.resolve())
    if (!serves(store)) return null
    if (!this.jumps)
      for (const [known] of this.acknowledged)
        expect(store.findCycle(cycleIdAt(known)), `an owner has cycle ${known}`).toBeDefined()
    const cycleId = cycleIdAt(number)
    let response = store.readResponse(cycleId)
    if (response === undefined) {
      response = Buffer.from(`response ${++this.attempts}`)
      try {
        const position = await store.appendCycle(cycleSample(number, { response }))
        if (position % 3 === 0) await store.savePool(position, response)
      } catch {
        return null
      }
    }
    await process.in(Promise.resolve())
    return serves(store) ? Buffer.from(response).toString() : null
  }

  async disturb(): Promise<void> {
    while (!this.isOver()) {
      await this.world.wait(this.random(15_000))
      if (this.isOver()) return
      const node = this.nodes[this.random(processCount)]!
      switch (this.random(this.jumps ? 7 : 6)) {
        case 0:
          this.servers.crash()
          break
        case 1:
          this.servers.promote()
          break
        case 2:
          this.servers.canReplicate = !this.servers.canReplicate
          break
        case 3:
          // SIGKILL; it starts again after a while.
          node.process.isDead = true
          node.store = null
          this.world.after(this.random(30_000), () => {
            if (node.process.isDead) this.start(node)
          })
          break
        case 4: {
          const { process } = node
          process.pause()
          this.world.after(this.random(40_000), () => process.resume())
          break
        }
        case 5: {
          const { store, process } = node
          if (store === null) break
          node.store = null
          void process.in(store.close()).then(() => {
            if (node.process === process) this.start(node)
          })
          break
        }
        default:
          this.servers.clockOffsetMs += this.random(120_000) - 60_000
      }
    }
  }

  check(): void {
    if (this.failure !== null) throw this.failure as Error
    const stores = this.nodes.map(({ store, name }) => store ?? expect.fail(`${name} has not started`))
    expect(
      stores.filter(({ role }) => role === 'owner'),
      'one process is the owner',
    ).toHaveLength(1)
    const [first] = stores
    for (const store of stores) {
      const cycles = [...store.tail(1)]
      expect(cycles.map(({ position }) => position)).toEqual(cycles.map((_, i) => i + 1))
      expect(cycles).toEqual([...(first?.tail(1) ?? [])])
      expect(store.savedPools()).toEqual(first?.savedPools())
      for (const [number, response] of this.acknowledged)
        expect(Buffer.from(store.readResponse(cycleIdAt(number)) ?? []).toString(), `cycle ${number}`).toBe(
          response,
        )
    }
  }
}

function serves(store: JournalStore): boolean {
  return !store.closed && store.role === 'owner'
}

test('a seed takes the same steps in every run', async () => {
  for (let seed = 1; seed <= 3; seed++) {
    const first = new Simulation(seed)
    await first.run()
    const second = new Simulation(seed)
    await second.run()
    expect(second.world.stepsMs).toEqual(first.world.stepsMs)
    expect(second.acknowledged).toEqual(first.acknowledged)
  }
})

test('no fault loses, changes or repeats a cycle', { timeout: 600_000 }, async () => {
  const seeds =
    onlySeed === undefined ? Array.from({ length: seedCount }, (_, i) => i + 1) : [Number(onlySeed)]
  let acknowledged = 0
  for (const seed of seeds) {
    const simulation = new Simulation(seed)
    try {
      await simulation.run()
      simulation.check()
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    }
    acknowledged += simulation.acknowledged.size
  }
  expect(acknowledged).toBeGreaterThan(seeds.length)
})
