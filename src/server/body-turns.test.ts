/** Turns of bodies that arrive at the same time. */
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BodyTurns, turnBytesMax, type ArrivingBody } from './body-turns.js'

/** A body that writes down what it is told. */
function bodyOf(name: string, told: string[]): ArrivingBody {
  return {
    pause: () => told.push(`${name} pauses`),
    resume: () => told.push(`${name} goes on`),
  }
}

test('a body that arrives alone is never paused', async () => {
  const told: string[] = []
  const turns = new BodyTurns()
  const body = bodyOf('it', told)
  turns.received(body, turnBytesMax)
  turns.received(body, turnBytesMax)
  expect(told).toEqual([])
  await setImmediate()
  expect(told).not.toContain('it pauses')
})

test('of several, all pause when enough has come in a turn, and go on in the next, the oldest first', async () => {
  const told: string[] = []
  const turns = new BodyTurns()
  const [old, young] = [bodyOf('old', told), bodyOf('young', told)]
  turns.received(old, 1)
  await setImmediate()
  turns.received(young, turnBytesMax - 1)
  expect(told).toEqual([])
  turns.received(young, 1)
  expect(told).toEqual(['old pauses', 'young pauses'])
  await setImmediate()
  expect(told.slice(2)).toEqual(['old goes on', 'young goes on'])
})

test('what came in one turn does not count in the next', async () => {
  const told: string[] = []
  const turns = new BodyTurns()
  const [old, young] = [bodyOf('old', told), bodyOf('young', told)]
  turns.received(old, turnBytesMax - 1)
  turns.received(young, 0)
  await setImmediate()
  turns.received(young, turnBytesMax - 1)
  expect(told).toEqual([])
})

test('a body that has ended is told nothing, and leaves the other one alone', async () => {
  const told: string[] = []
  const turns = new BodyTurns()
  const [old, young] = [bodyOf('old', told), bodyOf('young', told)]
  turns.received(old, 1)
  turns.received(young, 1)
  turns.ended(old)
  turns.received(young, turnBytesMax)
  expect(told).toEqual([])
  await setImmediate()
  expect(told).not.toContain('old goes on')
})

test('what comes when the turn is over pauses too, and goes on with the others', async () => {
  const told: string[] = []
  const turns = new BodyTurns()
  const [old, young, late] = [bodyOf('old', told), bodyOf('young', told), bodyOf('late', told)]
  turns.received(old, 1)
  turns.received(young, turnBytesMax)
  turns.received(late, 1)
  expect(told).toEqual(['old pauses', 'young pauses', 'late pauses'])
  await setImmediate()
  expect(told.slice(3)).toEqual(['old goes on', 'young goes on', 'late goes on'])
})
