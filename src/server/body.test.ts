/** Bodies: the memory of all of them together, what one call holds of it, and how a body arrives. */
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FakeExchange } from '../../test/helpers/fake-exchange.js'
import { kibibyte } from '../base/index.js'
import { bodyBufferBytes } from '../codec/index.js'
import { Body, BodyMemory, CallMemory, GrowingBytes, type BodyReading } from './body.js'

const memory = (all = new BodyMemory(1e6)): CallMemory => new CallMemory(all, () => undefined)

test('bytes past the limit are refused with Retry-After, and nothing is added', () => {
  const bodies = new BodyMemory(100)
  const [first, second] = [memory(bodies), memory(bodies)]
  first.addRequest(60)
  second.addRequest(40)
  expect(second.addRequest(1)).toMatchObject({ kind: 'unavailable', retryAfterS: 1 })
  expect(bodies.bytesHeld).toBe(100)
  first.workEnded()
  expect(second.addRequest(60)).toBeNull()
  bodies.bytesMax = 50
  expect(bodies.bytesHeld).toBe(100)
  expect(first.addResponse.bind(first, 1)).toThrow('after the end of the work')
})

test('a response takes the place of its request: one that is not longer always fits, also where nothing else does', () => {
  const bodies = new BodyMemory(100)
  const [first, second] = [memory(bodies), memory(bodies)]
  first.addRequest(40)
  second.addRequest(60)
  expect(first.addResponse(40)).toBeNull()
  expect(second.addResponse(61)).toMatchObject({ kind: 'unavailable', retryAfterS: 1 })
  expect(bodies.bytesHeld).toBe(40)
})

test('for any calls at once, in any order of their ends, the sum is what they hold, never over the limit, and 0 at the end', () => {
  const action = fc.record({
    call: fc.nat(4),
    kind: fc.constantFrom('request', 'response', 'work ends', 'connection ends'),
    bytes: fc.nat(50),
  } as const)
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const bodies = new BodyMemory(100)
      const released: number[] = []
      const calls = Array.from({ length: 5 }, (_, index) => ({
        memory: new CallMemory(bodies, () => released.push(index)),
        request: 0,
        response: 0,
        isWorking: true,
        isConnected: true,
      }))
      const sum = (): number => calls.reduce((total, call) => total + call.request + call.response, 0)
      const endWork = (call: (typeof calls)[number]): void => {
        call.memory.workEnded()
        Object.assign(call, { isWorking: false, request: 0 })
        if (!call.isConnected) call.response = 0
      }
      const endConnection = (call: (typeof calls)[number]): void => {
        call.memory.connectionEnded()
        call.isConnected = false
        // The work does not know that the client has left.
        if (!call.isWorking) call.response = 0
      }
      for (const { call: index, kind, bytes } of actions) {
        const call = calls[index]!
        if (kind === 'work ends' && call.isWorking) endWork(call)
        if (kind === 'connection ends' && call.isConnected) endConnection(call)
        if ((kind === 'request' || kind === 'response') && call.isWorking) {
          if (kind === 'response') call.request = 0
          const fits = sum() + bytes <= 100
          const refusal = kind === 'request' ? call.memory.addRequest(bytes) : call.memory.addResponse(bytes)
          expect(refusal === null).toBe(fits)
          if (fits) call[kind] += bytes
        }
        expect(bodies.bytesHeld).toBe(sum())
      }
      for (const call of calls) {
        if (call.isWorking) endWork(call)
        expect(() => call.memory.workEnded()).toThrow('ends once')
        if (call.isConnected) endConnection(call)
        expect(() => call.memory.connectionEnded()).toThrow('ends once')
      }
      expect(released.sort()).toEqual([0, 1, 2, 3, 4])
      expect(bodies.bytesHeld).toBe(0)
    }),
  )
})

const piece = fc.uint8Array({ maxLength: 70_000 })

test('a body is its pieces in order, with padding after it, for any announced length', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(300_000), (pieces, announced) => {
      const body = new GrowingBytes(announced)
      for (const bytes of pieces) body.append(Uint8Array.from(bytes))
      const whole = body.bytes()
      expect(Buffer.compare(whole, Buffer.concat(pieces))).toBe(0)
      expect(whole.byteOffset + bodyBufferBytes(whole.length)).toBeLessThanOrEqual(whole.buffer.byteLength)
    }),
  )
})

// An upload of some megabytes may be cut after its first packets.
test.each([1, 48 * 1024])(
  'an announced length of 16 MiB takes no memory until the bytes arrive: %i so far',
  (bytes) => {
    const body = new GrowingBytes(16 * 1024 * 1024)
    body.append(new Uint8Array(bytes))
    expect(body.bytes().buffer.byteLength).toBeLessThan(100_000)
  },
)

test('a body is neither read nor extended nor released after its release', () => {
  const body = new GrowingBytes(10)
  body.append(new Uint8Array(1))
  body.release()
  expect(() => body.bytes()).toThrow('after its release')
  expect(() => body.append(new Uint8Array(1))).toThrow('after its release')
  expect(() => body.release()).toThrow('released once')
})

/** Reads a body that arrives in pieces, which end at these places. */
async function readInPieces(
  bytes: Uint8Array,
  ends: readonly number[],
  reading: BodyReading,
): Promise<Uint8Array> {
  const fake = new FakeExchange({ method: 'PUT', path: '/', body: bytes })
  const announced = { isPresent: true, bytes: bytes.length }
  const body = new Body(announced, fake.response, memory())
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
  const body = new Body(announced, fake.response, memory())
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
  const body = new Body(announced, fake.response, memory())
  const read = body.read(100, 1000)
  await vi.advanceTimersByTimeAsync(999)
  fake.deliver(0, 10)
  await read
  await vi.advanceTimersByTimeAsync(60_000)
  expect(fake.ended).toBe(false)
  const late = new FakeExchange({ method: 'PUT', path: '/', body: new Uint8Array(10) })
  const reading = new Body(announced, late.response, memory()).read(100, 1000)
  reading.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(1000)
  await expect(reading).rejects.toThrow('timed out while receiving')
  expect(late.ended).toBe(true)
})
