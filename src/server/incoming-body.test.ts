/** Bodies that may repeat known bytes. */
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeExchange } from '../../test/helpers/fake-exchange.js'
import { kibibyte } from '../base/index.js'
import { BodyAdmission } from './body-admission.js'
import { IncomingBody, type BodyReading } from './incoming-body.js'

/** Reads a body that arrives in pieces, which end at these places. */
async function readInPieces(
  bytes: Uint8Array,
  ends: readonly number[],
  reading: BodyReading,
): Promise<Uint8Array> {
  const fake = new FakeExchange({ method: 'PUT', path: '/', body: bytes })
  const announced = { isPresent: true, bytes: bytes.length }
  const body = new IncomingBody(announced, fake.response, new BodyAdmission(1e6).open())
  const read = body.read(1e6, 10_000, reading)
  let from = 0
  for (const to of [...ends, bytes.length]) {
    fake.deliver(from, to)
    from = to
  }
  return read
}

test('a body is the bytes that have arrived, wherever it differs from what it may repeat', async () => {
  const cases = fc.uint8Array({ minLength: 1, maxLength: 40 }).chain((bytes) =>
    fc.record({
      bytes: fc.constant(bytes),
      different: fc.option(fc.nat(bytes.length - 1), { nil: null }),
      ends: fc.uniqueArray(fc.integer({ min: 1, max: bytes.length }), { maxLength: 4 }),
    }),
  )
  await fc.assert(
    fc.asyncProperty(cases, async ({ bytes, different, ends }) => {
      const known = Uint8Array.from(bytes)
      if (different !== null) known[different]! ^= 1
      const kept = Uint8Array.from(known)
      const places = ends.filter((end) => end < bytes.length).sort((first, second) => first - second)
      const body = await readInPieces(bytes, places, { known })
      expect(body === known).toBe(different === null)
      expect(Buffer.compare(body, bytes)).toBe(0)
      expect(known).toEqual(kept)
    }),
  )
})

test('a drain ends after two seconds with less than 64 KiB, however much has arrived before', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const enough = 64 * kibibyte
  const fake = new FakeExchange({ method: 'PUT', path: '/', body: new Uint8Array(3 * enough) })
  const announced = { isPresent: true, bytes: 3 * enough }
  const body = new IncomingBody(announced, fake.response, new BodyAdmission(1e6).open())
  let hasEnded = false
  const drained = body.drain().then(() => (hasEnded = true))
  fake.deliver(0, enough)
  await vi.advanceTimersByTimeAsync(1999)
  expect(hasEnded).toBe(false)
  fake.deliver(enough, 2 * enough - 1)
  await vi.advanceTimersByTimeAsync(1)
  expect(hasEnded).toBe(true)
  await drained
})

test('a body that arrived in time has no time limit any longer: its connection stays open', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const fake = new FakeExchange({ method: 'PUT', path: '/', body: new Uint8Array(10) })
  const announced = { isPresent: true, bytes: 10 }
  const body = new IncomingBody(announced, fake.response, new BodyAdmission(1e6).open())
  const read = body.read(100, 1000)
  await vi.advanceTimersByTimeAsync(999)
  fake.deliver(0, 10)
  await read
  await vi.advanceTimersByTimeAsync(60_000)
  expect(fake.ended).toBe(false)
  const late = new FakeExchange({ method: 'PUT', path: '/', body: new Uint8Array(10) })
  const reading = new IncomingBody(announced, late.response, new BodyAdmission(1e6).open()).read(100, 1000)
  reading.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(1000)
  await expect(reading).rejects.toThrow('timed out while receiving')
  expect(late.ended).toBe(true)
})
