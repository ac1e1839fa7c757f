/** The search for the items that make a batch fail: it finds exactly these, and runs all others. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isolateErrors, partsOf, type IsolationParts } from './isolate-errors.js'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, item) => item)

/** Runs the search; a batch with one of `bad` fails. */
async function search(
  batches: readonly (readonly number[])[],
  bad: readonly number[],
  parts: Partial<IsolationParts<number>> = {},
) {
  const failing: number[] = []
  const succeeded: number[] = []
  let failureCount = 0
  await isolateErrors(batches, {
    run: (items) => {
      if (items.some((item) => bad.includes(item)))
        return Promise.reject(new Error(`failure ${++failureCount}`))
      succeeded.push(...items)
      return Promise.resolve()
    },
    control: () => Promise.resolve(),
    onError: (item) => failing.push(item),
    isLate: () => false,
    ...parts,
  })
  return { failing, succeeded, failureCount }
}

test('finds each item that fails, in order, and runs every other one once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(1000), fc.array(fc.nat(1000), { maxLength: 5 }), async (count, bad) => {
      const { failing, succeeded } = await search([numbers(count)], bad)
      expect(failing).toEqual(numbers(count).filter((item) => bad.includes(item)))
      expect(succeeded).toEqual(numbers(count).filter((item) => !bad.includes(item)))
    }),
  )
})

test.each([
  [1, 2],
  [100, 3],
  [200, 4],
  [5000, 4],
])('one of %d items that always fails does so in %d batches', async (count, failureCount) => {
  expect(await search([numbers(count)], [count - 1])).toMatchObject({ failing: [count - 1], failureCount })
  expect(await search(partsOf(numbers(count)), [0])).toMatchObject({
    failureCount: Math.max(failureCount - 1, 2),
  })
})

test('an item that fails once on its own is not the cause', async () => {
  let failures = 3
  const succeeded: number[] = []
  const run = (items: readonly number[]): Promise<unknown> => {
    if (items.includes(7) && failures-- > 0) return Promise.reject(new Error('by chance'))
    return Promise.resolve(succeeded.push(...items))
  }
  // In the whole batch, in a part, and once alone.
  expect((await search([numbers(200)], [], { run })).failing).toEqual([])
  expect(succeeded).toEqual(numbers(200))
})

test('ends when the control fails too, and blames no item', async () => {
  const control = (): Promise<unknown> => Promise.reject(new Error('broken'))
  const onError = (): void => expect.fail()
  await expect(search([numbers(9)], [3], { control, onError })).rejects.toThrow('broken')
})

test('ends when the control fails after an item has, and the item is known', async () => {
  const failing: number[] = []
  const control = (items: readonly number[]): Promise<unknown> =>
    items.length === 0 ? Promise.reject(new Error('broken')) : Promise.resolve()
  const searching = search([numbers(9)], [3, 5], { control, onError: (item) => failing.push(item) })
  await expect(searching).rejects.toThrow('broken')
  expect(failing).toEqual([3])
})

test('ends when it is late, but not before one item has run or is known to fail', async () => {
  const isLate = (): boolean => true
  expect(await search([numbers(9)], [0, 1], { isLate })).toMatchObject({ failing: [0], succeeded: [] })
  expect(await search([numbers(9)], [8], { isLate })).toMatchObject({ failing: [], succeeded: [0] })
})
