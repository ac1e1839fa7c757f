/**
 * Who gets a place in the line of cycles, and what those are told who do not.
 */
import { expect, test } from 'vitest'
import { Places } from './places.js'

/** The id of a cycle that nobody has a place for. */
const another = '20250303T1000'

function createPlaces(waitingMax = 1) {
  const clock = { ms: 0 }
  return {
    clock,
    places: new Places(
      () => waitingMax,
      () => clock.ms,
    ),
  }
}

test('one stands and so many wait; the next is told to come back, and has a place when one has left', () => {
  const { places } = createPlaces()
  const place = places.take('20250303T0900')
  places.take('20250303T0905')
  expect(() => places.take('20250303T0910')).toThrow('too many cycles are queued')
  place.leave()
  expect(places.hasRoom(another)).toBe(true)
  place.leave()
  places.take('20250303T0910')
  expect(places.hasRoom(another)).toBe(false)
})

test('calls with the same id share a place, until the last of them has left', () => {
  const { places } = createPlaces(1)
  const leaves = [places.take('20250303T0900'), places.take('20250303T0900')]
  places.take('20250303T0905')
  expect(places.hasRoom('20250303T0900')).toBe(true)
  expect(places.willHaveRoom('20250303T0900')).toBe(true)
  expect(places.hasRoom(another)).toBe(false)
  leaves[0]?.leave()
  expect(places.hasRoom(another)).toBe(false)
  leaves[1]?.leave()
  expect(places.hasRoom(another)).toBe(true)
})

test('a body that arrives is reckoned with for a moment, so that a slow one keeps nobody out', () => {
  const { clock, places } = createPlaces(1)
  places.take('20250303T0900')
  const arrived = places.expect()
  expect(places.willHaveRoom(another)).toBe(false)
  arrived()
  expect(places.willHaveRoom(another)).toBe(true)
  places.expect()
  expect(places.willHaveRoom(another)).toBe(false)
  clock.ms += 100
  expect(places.willHaveRoom(another)).toBe(true)
})

test('while nobody stands in line, bodies on their way keep nobody out', () => {
  const { places } = createPlaces(0)
  for (let i = 0; i < 10; i++) places.expect()
  expect(places.willHaveRoom(another)).toBe(true)
})

test('the time after which to come back follows how long cycles take', () => {
  const { clock, places } = createPlaces(3)
  for (let i = 0; i < 5; i++) {
    const place = places.take('20250303T0900')
    clock.ms += 700
    place.leave()
  }
  for (let i = 0; i < 4; i++) places.take(`20250303T091${i}`)
  const told = Array.from({ length: 6 }, () => places.refusal().retryAfterS)
  expect(told).toEqual([3, 3, 3, 3, 4, 5])
})
