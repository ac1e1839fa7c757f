/** One copy for all who have it, and none when nobody has it. The garbage collector is asked to come where nobody gives back. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { SharedCopies } from './shared-copies.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('there is one copy for as long as someone has it', async () => {
  const copies = new SharedCopies<number>()
  let reads = 0
  const read = (): Uint8Array => Uint8Array.of(++reads)
  const first = copies.of(1, read)
  expect(first).toEqual(Uint8Array.of(1))
  await endOfTurn()
  collectGarbage()
  expect(copies.of(1, read)).toBe(first)
  expect(copies.of(2, read)).toEqual(Uint8Array.of(2))
})

test('what nobody has is read again', async () => {
  const copies = new SharedCopies<number>()
  const bytesOf = (key: number): number | undefined => copies.of(key, () => new Uint8Array(key))?.byteLength
  expect([bytesOf(3), bytesOf(4)]).toEqual([3, 4])
  await endOfTurn()
  collectGarbage()
  await endOfTurn()
  expect(copies.of(3, () => Uint8Array.of(7))).toEqual(Uint8Array.of(7))
  while (copies.size > 0) {
    await endOfTurn()
    collectGarbage()
  }
})

describe('the memory of a copy that was given back', () => {
  const kept = 64 * 1024
  const take = (copies: SharedCopies<number>, key: number, bytes: number): Uint8Array =>
    copies.of(key, () => new Uint8Array(bytes).fill(key)) ?? expect.fail('there is no copy')
  const isWhole = (copy: Uint8Array, key: number): boolean => copy.every((byte) => byte === key)

  test('serves another when all who had it gave it back, and not before', () => {
    const copies = new SharedCopies<number>()
    const first = take(copies, 1, kept)
    expect(take(copies, 1, kept)).toBe(first)
    copies.giveBack(first)
    const second = take(copies, 2, kept)
    expect(isWhole(first, 1) && isWhole(second, 2)).toBe(true)
    copies.giveBack(first)
    expect(take(copies, 3, kept - 1).buffer).toBe(first.buffer)
    expect(isWhole(second, 2)).toBe(true)
  })

  test('is there for the next who asks for it, as it was, and is not read again', () => {
    const copies = new SharedCopies<number>()
    const first = take(copies, 1, kept)
    copies.giveBack(first)
    const again = copies.of(1, () => expect.fail('read twice')) ?? expect.fail('there is no copy')
    expect(again.buffer).toBe(first.buffer)
    expect(isWhole(again, 1) && again.byteLength === kept).toBe(true)
    copies.giveBack(first)
    expect(take(copies, 2, kept).buffer).not.toBe(first.buffer)
    expect(isWhole(again, 1)).toBe(true)
  })

  test('serves one that it is long enough for, and none that needs far less', () => {
    const copies = new SharedCopies<number>()
    const first = take(copies, 1, 8 * kept)
    copies.giveBack(first)
    for (const bytes of [10, kept, 8 * kept + 1, 10 * kept]) {
      const other = take(copies, bytes, bytes)
      expect(other.byteLength).toBe(bytes)
      expect(other.buffer, `for ${bytes} bytes`).not.toBe(first.buffer)
    }
    expect(take(copies, 2, 4 * kept).buffer).toBe(first.buffer)
  })

  test('is kept for two, and not where it is very short or very long', () => {
    const copies = new SharedCopies<number>()
    for (const bytes of [1000, 8 * 1024 * 1024 + 1]) {
      const copy = take(copies, bytes, bytes)
      copies.giveBack(copy)
      expect(take(copies, bytes, bytes).buffer).not.toBe(copy.buffer)
    }
    const three = [1, 2, 3].map((key) => take(copies, key, kept))
    for (const copy of three) copies.giveBack(copy)
    const again = [4, 5, 6].map((key) => take(copies, key, kept).buffer)
    expect(three.map(({ buffer }) => again.includes(buffer))).toEqual([false, true, true])
  })

  test('serves one only, though a copy be given back again after its last reader, or comes from elsewhere', () => {
    const copies = new SharedCopies<number>()
    const first = take(copies, 1, kept)
    copies.giveBack(first)
    copies.giveBack(first)
    const [second, third] = [take(copies, 2, kept), take(copies, 3, kept)]
    expect(second.buffer).not.toBe(third.buffer)
    copies.giveBack(new Uint8Array(kept))
    expect(isWhole(second, 2) && isWhole(third, 3)).toBe(true)
  })
})

test('a copy that nobody else could be given leaves the one that all share', async () => {
  const copies = new SharedCopies<number>()
  const read = (): Uint8Array => new Uint8Array(1024 * 1024)
  for (let key = 0; key < 32; key++) copies.of(key, read)
  const alone = copies.of(99, read) as Uint8Array
  await endOfTurn()
  const shared = copies.of(99, read)
  copies.giveBack(alone)
  expect(copies.of(99, read)).toBe(shared)
})

test('what is not there is looked for each time', () => {
  const copies = new SharedCopies<number>()
  expect(copies.of(1, () => undefined)).toBeUndefined()
  expect(copies.of(1, () => Uint8Array.of(1))).toEqual(Uint8Array.of(1))
})

test('a job that reads many records keeps few of them, and the next one shares again', async () => {
  const copies = new SharedCopies<number>()
  const read = (): Uint8Array => new Uint8Array(1024 * 1024)
  for (let key = 0; key < 100; key++) copies.of(key, read)
  expect(copies.size).toBe(32)
  expect(copies.of(99, read)).not.toBe(copies.of(99, read))
  await endOfTurn()
  expect(copies.of(99, read)).toBe(copies.of(99, read))
})

/** What a turn of the event loop has looked at through a WeakRef stays until its end. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
