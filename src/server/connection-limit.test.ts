/** The connection limit, and how the descriptor limit lowers it. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../base/index.js'
import { ConnectionLimit, type ConnectionOptions } from './connection-limit.js'

let warnings: object[]
beforeEach(() => (warnings = []))
const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) }

/** Without an admin listener, in a process with many descriptors. */
const options: ConnectionOptions = { adminConnectionsMax: 0, descriptorsMax: 100_000 }

test('connections up to the limit are accepted, and closing one frees a slot', () => {
  const connections = new ConnectionLimit(2, log, options)
  expect([connections.count(1), connections.count(1), connections.count(1)]).toEqual([true, true, false])
  // A refused connection is closed, and counted as closed like any other.
  connections.count(-1)
  expect(connections.openCount).toBe(2)
  expect(connections.count(1)).toBe(false)
  connections.count(-1)
  connections.count(-1)
  expect(connections.count(1)).toBe(true)
})

test('refusals are logged once a minute, not individually', () => {
  const connections = new ConnectionLimit(1, log, options)
  for (let index = 0; index < 50; index++) connections.count(1)
  expect(warnings).toEqual([{ connections_max: 1, count: 1 }])
})

test('the next refusal is logged a minute later, with the number of all until then', () => {
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  const connections = new ConnectionLimit(1, log, options)
  connections.count(1)
  for (const ms of [1000, 60_999, 61_000]) {
    nowMs = ms
    connections.count(1)
  }
  expect(warnings).toEqual([1, 3].map((count) => ({ connections_max: 1, count })))
})

test('a lower limit closes no connection and refuses new ones', () => {
  const connections = new ConnectionLimit(10, log, options)
  for (let index = 0; index < 5; index++) connections.count(1)
  connections.limit(3)
  expect(connections.openCount).toBe(5)
  expect(connections.count(1)).toBe(false)
})

test('descriptors stay reserved for other uses, and a limit lowered for them is logged', () => {
  const connections = new ConnectionLimit(2048, log, { ...options, descriptorsMax: 1024 })
  expect(connections.max).toBe(768)
  expect(warnings).toEqual([{ connections_max: 2048, in_force: 768, descriptors_max: 1024 }])
  expect(new ConnectionLimit(700, log, { ...options, descriptorsMax: 1024 }).max).toBe(700)
  expect(warnings).toHaveLength(1)
})

test('the connections of the admin listener have descriptors of their own', () => {
  expect(
    new ConnectionLimit(2048, log, { ...options, adminConnectionsMax: 200, descriptorsMax: 1024 }).max,
  ).toBe(568)
})
