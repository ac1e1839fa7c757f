/**
 * Counting connections, and the limit that descriptors set.
 */
import { beforeEach, expect, test } from 'vitest'
import { Connections } from './connections.js'

let warnings: object[]
beforeEach(() => (warnings = []))
const log = { warn: (fields: object) => void warnings.push(fields) }

test('as many as may be are let in, and one that goes makes room', () => {
  const connections = new Connections(2, log, 100_000)
  expect([connections.count(1), connections.count(1), connections.count(1)]).toEqual([true, true, false])
  // The one that is refused goes at once, and is counted out like any other.
  connections.count(-1)
  expect(connections.openCount).toBe(2)
  expect(connections.count(1)).toBe(false)
  connections.count(-1)
  connections.count(-1)
  expect(connections.count(1)).toBe(true)
})

test('refusals are told, but not each', () => {
  const connections = new Connections(1, log, 100_000)
  for (let index = 0; index < 50; index++) connections.count(1)
  expect(warnings).toEqual([{ connections_max: 1, refused: 1 }])
})

test('a lower limit closes nothing and refuses what comes', () => {
  const connections = new Connections(10, log, 100_000)
  for (let index = 0; index < 5; index++) connections.count(1)
  connections.limit(3)
  expect(connections.openCount).toBe(5)
  expect(connections.count(1)).toBe(false)
})

test('descriptors for the rest stay free, and a limit that they lower is told', () => {
  const connections = new Connections(2048, log, 1024)
  expect(connections.max).toBe(768)
  expect(warnings).toEqual([{ connections_max: 2048, in_force: 768, descriptors_max: 1024 }])
  expect(new Connections(700, log, 1024).max).toBe(700)
  expect(warnings).toHaveLength(1)
})
