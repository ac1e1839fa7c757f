/** One copy for all who have it, and none when nobody has it. The garbage collector is asked to come where nobody gives back. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
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

test('memory serves another copy when all who had it gave it back, and not before', () => {
  const copies = new SharedCopies<number>()
  const first = copies.of(1, () => Uint8Array.of(1)) as Uint8Array
  expect(copies.of(1, () => Uint8Array.of(9))).toBe(first)
  copies.giveBack(first)
  const second = copies.of(2, () => Uint8Array.of(2)) as Uint8Array
  expect([...first, ...second]).toEqual([1, 2])
  copies.giveBack(first)
  expect(copies.of(1, () => Uint8Array.of(7, 7))?.buffer).toBe(first.buffer)
  expect([...second]).toEqual([2])
})

test('a copy that is given back too often, or comes from elsewhere, changes nothing', () => {
  const copies = new SharedCopies<number>()
  const first = copies.of(1, () => Uint8Array.of(1)) as Uint8Array
  copies.giveBack(first)
  copies.giveBack(first)
  const [second, third] = [2, 3].map((key) => copies.of(key, () => Uint8Array.of(key)) as Uint8Array)
  expect(second?.buffer).not.toBe(third?.buffer)
  copies.giveBack(Uint8Array.of(1))
  expect([...(second ?? []), ...(third ?? [])]).toEqual([2, 3])
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
