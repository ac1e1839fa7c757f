/** One copy for all who have it, and none when nobody has it. The garbage collector is asked to come. */
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
