import { describe, expect, test } from 'vitest'
import { NewestCycle } from './newest-cycle.js'
import { cycleIdAt } from './samples.js'

const cycleAt = (position: number) => ({
  position,
  cycleId: cycleIdAt(position),
  cycleAtMs: 0,
  receivedAt: '',
  modelVersion: 'm',
  weightsVersion: 'w',
})

describe('what memory knows of the newest cycle', () => {
  test('an id may be stored when it is not greater than all that were there or were begun', () => {
    const newest = new NewestCycle(() => cycleIdAt(5))
    expect([4, 5, 6].map((number) => newest.mayHave(cycleIdAt(number)))).toEqual([true, true, false])
    newest.insert(cycleIdAt(7))
    expect([6, 7, 8].map((number) => newest.mayHave(cycleIdAt(number)))).toEqual([true, true, false])
    newest.insert(cycleIdAt(2))
    expect([6, 7, 8].map((number) => newest.mayHave(cycleIdAt(number)))).toEqual([true, true, false])
  })

  test('the store is asked for its greatest id once, before the first insert', () => {
    const asked: string[] = []
    const newest = new NewestCycle(() => {
      asked.push('now')
      return ''
    })
    newest.insert(cycleIdAt(1))
    newest.insert(cycleIdAt(2))
    expect([newest.mayHave(cycleIdAt(2)), newest.mayHave(cycleIdAt(3)), asked.length]).toEqual([
      true,
      false,
      1,
    ])
  })

  test('nothing is known of the last to arrive before an insert, during one, and after one that failed', () => {
    const newest = new NewestCycle(() => '')
    expect(newest.cycle).toBeUndefined()
    const isStored = newest.insert(cycleIdAt(1))
    expect(newest.cycle).toBeUndefined()
    isStored(cycleAt(1))
    expect(newest.cycle).toEqual(cycleAt(1))
    newest.insert(cycleIdAt(2)) // and fails
    expect(newest.cycle).toBeUndefined()
    newest.insert(cycleIdAt(3))(cycleAt(3))
    expect(newest.cycle).toEqual(cycleAt(3))
  })

  test('an insert that is told of when another has begun is not the newest', () => {
    const newest = new NewestCycle(() => '')
    const first = newest.insert(cycleIdAt(1))
    const second = newest.insert(cycleIdAt(2))
    first(cycleAt(1))
    expect(newest.cycle).toBeUndefined()
    second(cycleAt(2))
    expect(newest.cycle).toEqual(cycleAt(2))
  })
})
