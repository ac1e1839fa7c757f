/** The compression of a body: when it begins, and how long the body is kept. */
import { expect, test, vi } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { serviceParts } from '../../../test/helpers/cycle-service.js'
import { FakeModel } from '../../../test/helpers/fake-model.js'
import { type PackedRequest, RequestBody } from './request-body.js'
import { CycleService } from '../service.js'
import { StageClock } from '../stage-clock.js'

interface Compression {
  readonly end: () => void
  readonly fail: () => void
}

const compressions: Compression[] = []

vi.mock(import('./request-body.js'), async (original) => ({
  ...(await original()),
  packRequest: ({ json }) =>
    new Promise<PackedRequest>((resolve, reject) =>
      compressions.push({
        end: () =>
          resolve({ encoding: 'identity', bytes: json, bodyBytes: json.length, sha256: '0'.repeat(64) }),
        fail: () => reject(new Error('no memory')),
      }),
    ),
}))

const cycle = cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })
const padding = ' '.repeat(1024 * 1024)
const valid = Buffer.from(JSON.stringify(cycle) + padding)
const invalid = Buffer.from(JSON.stringify({ ...cycle, engagement: 1 }) + padding)

async function submitter(model = new FakeModel()) {
  compressions.length = 0
  const service = await CycleService.open(serviceParts({ model: () => model }))
  return (json: Uint8Array) => service.intake.submit(new RequestBody(json), cycleMs(1000), new StageClock(0))
}

const begun = (count: number) => vi.waitUntil(() => compressions.length === count)

test('a large body is compressed while it is decoded', async () => {
  const submit = await submitter()
  const call = submit(valid)
  await begun(1)
  compressions[0]!.end()
  expect(Buffer.from(await call).toString()).toContain('"scored_now":1')
})

test('a smaller body is compressed while its model computes, and never if it is refused', async () => {
  const model = new FakeModel()
  const submit = await submitter(model)
  const smaller = (body: object): Buffer => Buffer.from(JSON.stringify(body) + ' '.repeat(900 * 1024))
  await expect(submit(smaller({ ...cycle, engagement: 1 }))).rejects.toMatchObject({ status: 400 })
  let endModel = (): void => undefined
  model.blockedBy = new Promise((resolve) => (endModel = resolve))
  const call = submit(smaller(cycle))
  expect(compressions).toHaveLength(0)
  await vi.waitUntil(() => compressions.length > 0)
  compressions[0]!.end()
  endModel()
  expect(Buffer.from(await call).toString()).toContain('"scored_now":1')
  expect(compressions).toHaveLength(1)
})

test('a body that is refused is kept until its compression has ended, which may fail', async () => {
  const submit = await submitter()
  for (const [index, ending] of (['end', 'fail'] as const).entries()) {
    let isSettled = false
    const call = submit(invalid).finally(() => (isSettled = true))
    call.catch(() => undefined)
    await begun(index + 1)
    // Bodies are decoded one after the other: the first one has been refused by then.
    await expect(submit(bytesOf({}))).rejects.toMatchObject({ status: 400 })
    expect(isSettled).toBe(false)
    compressions.at(-1)![ending]()
    await expect(call).rejects.toMatchObject({ status: 400 })
  }
})

test('a cycle whose compression fails is not stored, and is scored when it is sent again', async () => {
  const submit = await submitter()
  const call = submit(valid)
  await begun(1)
  compressions[0]!.fail()
  await expect(call).rejects.toThrow('no memory')
  const again = submit(valid)
  await begun(2)
  compressions[1]!.end()
  expect(Buffer.from(await again).toString()).toContain('"scored_now":1')
})

test('a repeat is not compressed', async () => {
  const submit = await submitter()
  const call = submit(valid)
  await begun(1)
  compressions[0]!.end()
  const response = await call
  expect(Buffer.compare(await submit(valid), response)).toBe(0)
  expect(compressions).toHaveLength(1)
})
