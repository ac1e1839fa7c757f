/** The pool at startup is the one that the service had, whatever has become of the saved ones. */
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { candidate, cycleBody, cycleMs, reading, removal, snapshot } from '../../../test/helpers/bodies.js'
import { columnsOf } from '../../../test/helpers/columns.js'
import { cycleSequence } from '../../../test/helpers/cycle-arbitraries.js'
import { memoryStore } from '../../../test/helpers/memory-store.js'
import { RecordedMemory } from '../../../test/helpers/recorded-memory.js'
import type { CycleRequest } from '../../contract/index.js'
import { Pool, type PoolState } from '../../pool/index.js'
import type { Position } from '../../store/index.js'
import { loadPool } from './load-pool.js'
import { packPool } from './saved-pool.js'

const week = 7 * 24 * 12
const enter = cycleBody(0, { candidates: [candidate('g', 1), candidate('g', 2), candidate('h', 1)] })

/** A service with `cycles`, which saves the pool after some of them. */
async function recorded(
  cycles: readonly CycleRequest[],
  savedAt: readonly Position[] = [],
): Promise<RecordedMemory> {
  const memory = await RecordedMemory.open()
  for (const cycle of cycles) {
    await memory.submit(cycle)
    const { position } = memory.service.pool
    if (savedAt.includes(position))
      await memory.store.savePool(position, packPool(memory.service.pool), memory.store.savedPools()[0])
  }
  return memory
}

async function restarted({ contents }: RecordedMemory, warnings: string[] = []): Promise<Pool> {
  const log = { warn: (fields: object) => void warnings.push(String((fields as { err: unknown }).err)) }
  const { pool } = await loadPool({ store: memoryStore({ contents }), log })
  return pool
}

/** The pool of a service that has processed `cycles` and was never restarted. */
function unrestarted(cycles: readonly CycleRequest[]): Pool {
  const pool = new Pool()
  cycles.forEach((cycle, index) => pool.publish(pool.plan(columnsOf(cycle), index + 1)))
  return pool
}

/** Everything but the index, which is built at the first look-up. */
function withoutIndex(state: PoolState): object {
  return { ...state, index: null }
}

test('a restart finds the pool and its tombstones, whichever saved pools there are', () =>
  fc.assert(
    fc.asyncProperty(cycleSequence, fc.array(fc.nat(12), { maxLength: 3 }), async (cycles, savedAt) => {
      const pool = await restarted(await recorded(cycles, savedAt))
      const expected = unrestarted(cycles)
      expect(withoutIndex(pool.state)).toEqual(withoutIndex(expected.state))
      for (const { gall_id, post_no } of cycles.flatMap(({ removals }) => removals))
        expect(pool.hasTombstone(gall_id, post_no)).toBe(expected.hasTombstone(gall_id, post_no))
    }),
    { numRuns: 60 },
  ))

test.each([
  ['finds the tombstone of a post that left exactly seven days ago', 0, true],
  ['does not find that of a post that left seven days and a cycle ago', 1, false],
])('a restart %s, with a saved pool and without', async (_title, cyclesLater, expected) => {
  const cycles = [enter, cycleBody(1, { removals: [removal('g', 1)] }), cycleBody(1 + week + cyclesLater)]
  for (const savedAt of [[], [1], [2], [3]]) {
    const pool = await restarted(await recorded(cycles, savedAt))
    expect(pool.state.newestCycleMs - cycleMs(1)).toBe(604_800_000 + 300_000 * cyclesLater)
    expect(pool.hasTombstone('g', 1)).toBe(expected)
  }
})

describe('of a pool that was saved twice', () => {
  let memory: RecordedMemory
  let warnings: string[]
  beforeEach(async () => {
    warnings = []
    const atMs = cycleMs(1) - 1000
    const cycles = [
      enter,
      cycleBody(1, {
        candidates: [candidate('k', 2 ** 40)],
        engagement: [reading('g', 2, atMs), reading('h', 1, atMs)],
        candidate_scores: [snapshot('h', 1, atMs)],
        removals: [removal('g', 1)],
      }),
      cycleBody(2, { engagement: [reading('g', 2, atMs + 1000)], candidates: [candidate('k', 7)] }),
      cycleBody(3, { removals: [removal('h', 1)] }),
    ]
    memory = await recorded(cycles, [1, 3])
  })

  const damage = (position: Position): void =>
    memory.contents.pool.put(
      position,
      Uint8Array.from(memory.contents.pool.getBinary(position) ?? [], (byte, i) => byte ^ Number(i === 99)),
    )

  const expectRestored = async (): Promise<void> => {
    const pool = await restarted(memory, warnings)
    expect(withoutIndex(pool.state)).toEqual(withoutIndex(memory.service.pool))
    expect(pool.hasTombstone('g', 1)).toBe(true)
    expect(pool.hasTombstone('g', 2)).toBe(false)
  }

  test('the newest is used', async () => {
    damage(1)
    await expectRestored()
    expect(warnings).toEqual([])
  })

  test('the older replaces a damaged one', async () => {
    damage(3)
    memory.contents.requests.remove(1)
    await expectRestored()
    expect(warnings).toEqual([expect.stringContaining('saved pool is damaged')])
  })

  test('none is needed while no cycle has expired', async () => {
    damage(1)
    damage(3)
    await expectRestored()
    expect(warnings).toHaveLength(2)
    for (const position of [1, 3]) memory.contents.pool.remove(position)
    await expectRestored()
  })

  test('one that is newer than the newest cycle is not used', async () => {
    const later = await recorded([enter, cycleBody(1), cycleBody(2), cycleBody(3), cycleBody(4)], [5])
    memory.contents.pool.put(5, later.contents.pool.getBinary(5)!)
    expect(memory.store.savedPools()).toEqual([5, 3, 1])
    await expectRestored()
    expect(warnings).toEqual([expect.stringContaining('newer than the newest cycle')])
  })

  test('one that lacks a cycle is not used', async () => {
    const lacking = await recorded([enter])
    await memory.store.savePool(3, packPool({ ...lacking.service.pool, position: 3 }), 1)
    await expectRestored()
    expect(warnings).toEqual([
      expect.stringContaining('differs from the one that the newest cycle has recorded'),
    ])
  })

  test('one with another place of entry is not used', async () => {
    const { pool } = memory.service
    const enteredRow = pool.enteredRow.map((row, slot) => (slot === 0 ? row - 1 : row))
    await memory.store.savePool(4, packPool({ ...pool, enteredRow }), 3)
    await expectRestored()
    expect(warnings).toEqual([
      expect.stringContaining('differs from the one that the newest cycle has recorded'),
    ])
  })

  test('one of another layout is not used', async () => {
    const packed = Buffer.from(memory.store.readSavedPool(3)!).toString('latin1')
    const other = Buffer.from(packed.replace('"layout":1,', '"layout":2,'), 'latin1')
    await memory.store.savePool(3, other, 1)
    await expectRestored()
    expect(warnings).toEqual([expect.stringContaining('has layout 2, not 1')])
  })

  test('one of another cycle is not used', async () => {
    memory.contents.pool.put(3, memory.contents.pool.getBinary(1)!)
    await expectRestored()
    expect(warnings).toEqual([expect.stringContaining('it is that of position 1')])
  })

  test('one has to be intact once cycles have expired', async () => {
    await memory.store.expiry.removeCycles([{ position: 1, keepEntry: true }])
    damage(3)
    await expectRestored()
    damage(1)
    await expect(restarted(memory)).rejects.toThrow(/no saved pool can be used, .* restore a backup/)
  })

  test('a storage that cannot be read is an error: planning everything again would fail too', async () => {
    const store = memoryStore({ contents: memory.contents })
    await store.close()
    await expect(
      loadPool({ store, log: { warn: () => expect.fail('tries the next one') } }),
    ).rejects.toMatchObject({ code: 'closed' })
  })
})
