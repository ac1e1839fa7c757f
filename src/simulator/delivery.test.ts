/**
 * Client faults change how a cycle is sent and never what it contains.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drawFaults, reorder } from './delivery.js'
import { Rng } from './rng.js'

test('a value with reordered members is the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer(), (value, seed) => {
      expect(JSON.parse(JSON.stringify(reorder(value, new Rng(seed))))).toEqual(
        JSON.parse(JSON.stringify(value)),
      )
    }),
  )
})

test('reordering changes the order of members', () => {
  const value = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`m${index}`, index]))
  expect(JSON.stringify(reorder(value, new Rng(1)))).not.toBe(JSON.stringify(value))
})

test('every fault occurs within a day, and most cycles have none', () => {
  const drawn = Array.from({ length: 288 }, (_, index) => drawFaults(1, index, true))
  const count = (fault: string): number => drawn.filter((faults) => faults.delivery === fault).length
  for (const fault of ['response-lost', 'body-cut', 'response-unread', 'duplicate'])
    expect(count(fault)).toBeGreaterThan(3)
  expect(count('none')).toBeGreaterThan(150)
  expect(drawn.some((faults) => faults.restarted)).toBe(true)
  expect(drawn.some((faults) => faults.uploadLost)).toBe(true)
})

test('without faults nothing is lost or sent twice, and stored responses are still read again', () => {
  const drawn = Array.from({ length: 288 }, (_, index) => drawFaults(1, index, false))
  expect(drawn.every((f) => f.delivery === 'none' && !f.restarted && !f.uploadLost)).toBe(true)
  expect(drawn.some((faults) => faults.compared) && drawn.some((faults) => faults.reread !== null)).toBe(true)
})
