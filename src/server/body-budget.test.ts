/** The budget of all bodies. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyBudget, type BodyHold } from './body-budget.js'

test('what does not fit is refused with a time to come back, and takes nothing', () => {
  const budget = new BodyBudget(100)
  const [first, second] = [budget.open(), budget.open()]
  first.add(60)
  second.add(40)
  expect(second.add(1)).toMatchObject({ kind: 'unavailable', retryAfterS: 1 })
  expect(budget.bytesHeld).toBe(100)
  first.release()
  second.add(60)
  expect(budget.bytesHeld).toBe(100)
})

test('whatever is held and given back in whatever order, the sum is right and never over the bound', () => {
  const action = fc.record({ request: fc.nat(4), bytes: fc.option(fc.nat(50)) })
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const budget = new BodyBudget(100)
      const holds = Array.from({ length: 5 }, (): BodyHold => budget.open())
      const held = holds.map(() => 0)
      const sum = (): number => held.reduce((a, b) => a + b)
      for (const { request, bytes } of actions) {
        const hold = holds[request] as BodyHold
        if (bytes === null) {
          hold.release()
          held[request] = 0
        } else if (sum() + bytes > 100) expect(hold.add(bytes)).not.toBeNull()
        else {
          expect(hold.add(bytes)).toBeNull()
          held[request] = (held[request] as number) + bytes
        }
        expect(budget.bytesHeld).toBe(sum())
      }
    }),
  )
})
