/** `understudy verify --hash`: a hash of the chain that somebody has noted, and data directories that have it or not. */
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { candidate, cycleBody } from '../../../test/helpers/bodies.js'
import { callsOf, serviceParts } from '../../../test/helpers/cycle-service.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { scratchDir } from '../../../test/helpers/servers.js'
import { CycleService } from '../../cycle/index.js'
import { openLmdbStore, type Store } from '../../store/index.js'
import { processContext } from '../context.js'
import { addVerifyCommand } from './verify-command.js'

const unknown = 'f'.repeat(64)

/** A data directory with three cycles. `title`: of the post that enters with each; `last`: with the third one, null: there are two. */
async function newDirectory(title: string, last: string | null = title) {
  const dataDir = scratchDir()
  const store = await openLmdbStore({ dataDir })
  const model = new FakeModel()
  const service = await CycleService.open(serviceParts({ store, model: () => model }))
  const { submit } = callsOf(() => service)
  const titles = [title, title, ...(last === null ? [] : [last])]
  for (const [index, entering] of titles.entries())
    await submit(cycleBody(index, { candidates: [{ ...candidate('g', index + 1), title: entering }] }))
  await service.close()
  const hashes = titles.map((_, index) => store.hashes(index + 1)!.hash)
  return { dataDir, store, hashes }
}

async function expireFirst(store: Store): Promise<void> {
  await store.expiry.removeCycles([{ position: 1, keepEntry: false }])
  await store.expiry.removeRecords([1])
}

async function verify(dataDir: string, hash: string): Promise<{ printed: string; failure: string | null }> {
  let printed = ''
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  addVerifyCommand(program, { ...processContext(), print: (text) => void (printed += text) })
  const running = program.parseAsync(['verify', '--data-dir', dataDir, '--hash', hash], { from: 'user' })
  const failure = await running.then(
    () => null,
    (error: unknown) => (error as Error).message,
  )
  return { printed, failure }
}

test('the cycle with the hash is named, also in capital letters and when the cycles before it have expired', async () => {
  const { dataDir, store, hashes } = await newDirectory('one')
  const second = `the hash is that of cycle ${cycleBody(1).cycle_id}\n`
  const last = `the hash is that of cycle ${cycleBody(2).cycle_id}\n`
  expect((await verify(dataDir, hashes[1]!)).printed).toContain(second)
  expect((await verify(dataDir, hashes[2]!.toUpperCase())).printed).toContain(last)
  await expireFirst(store)
  await store.close()
  const ofExpired = await verify(dataDir, hashes[0]!)
  expect(ofExpired.printed).toContain(
    'the hash is that of the cycle at position 1, whose record has expired\n',
  )
  const again = await verify(dataDir, hashes[1]!)
  expect([again.failure, again.printed]).toEqual([null, expect.stringContaining(second)])
})

test('a directory in which an earlier cycle was another one fails, although it verifies by itself', async () => {
  const [{ hashes, store }, other] = [await newDirectory('one'), await newDirectory('two')]
  await Promise.all([store.close(), other.store.close()])
  for (const hash of [...hashes, unknown]) {
    const { printed, failure } = await verify(other.dataDir, hash)
    expect(printed).toContain(`the chain does not have the hash ${hash}`)
    expect(failure).toMatch(/: 1 problem$/)
  }
})

test.each([
  ['other', 'two'],
  ['missing', null],
])('the hash that was noted last tells of %s newest cycles, an earlier one does not', async (_, last) => {
  const [{ hashes, store }, changed] = [await newDirectory('one'), await newDirectory('one', last)]
  await Promise.all([store.close(), changed.store.close()])
  expect((await verify(changed.dataDir, hashes[1]!)).failure).toBeNull()
  const { printed, failure } = await verify(changed.dataDir, hashes[2]!)
  expect(printed).toContain(`the chain does not have the hash ${hashes[2]!}`)
  expect(failure).toMatch(/: 1 problem$/)
})

test('cycles of which only the hashes are left are counted', async () => {
  const { dataDir, store, hashes } = await newDirectory('one')
  const left = 'request and response have expired, and only their hashes are left'
  expect((await verify(dataDir, hashes[2]!)).printed).not.toContain(left)
  await store.expiry.removeCycles([{ position: 1, keepEntry: false }])
  await store.close()
  expect((await verify(dataDir, hashes[2]!)).printed).toContain(`\n1 cycle: ${left}\n`)
})

test.each([
  [100, null],
  [101, 'and 1 more'],
])('of %i problems the first hundred are printed', async (count, more) => {
  const { dataDir, store, hashes } = await newDirectory('one')
  await store.putOutcomes(
    Array.from({ length: count }, (_, index) => ({
      placementId: String(index),
      // No JSON.
      record: Uint8Array.of(0, index),
      arrivedAtMs: 0,
    })),
  )
  await store.close()
  const { printed, failure } = await verify(dataDir, hashes[2]!)
  expect(printed.match(/^outcomes, /gm)).toHaveLength(100)
  expect(/^and \d+ more$/m.exec(printed)?.[0] ?? null).toBe(more)
  expect(failure).toContain(`: ${count} problems`)
})

test('what is no hash is refused', async () => {
  const { failure } = await verify(scratchDir(), unknown.slice(1))
  expect(failure).toContain('It must have 64 hex digits.')
})
