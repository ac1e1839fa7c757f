/** What a start does where the system allows less than it is asked for, or nothing. The rest: test/priority-lead.test.ts. */
import { getPriority } from 'node:os'
import { describe, expect, test } from 'vitest'
import { takeLead } from './priority-lead.js'

const started = getPriority()

/** A system that lets a thread rise by so many steps. */
function allowing(steps: number): { set: (priority: number) => void; tried: number[] } {
  const tried: number[] = []
  const set = (priority: number): void => {
    tried.push(priority)
    if (priority < started - steps) throw new Error('EACCES')
  }
  return { set, tried }
}

describe.runIf(process.platform === 'linux')('the lead of the thread that calls', () => {
  test('is as large as the system allows', () => {
    expect(takeLead(5, allowing(5).set)).toBe(started - 5)
    expect(takeLead(5, allowing(3).set)).toBe(started - 3)
    expect(takeLead(5, allowing(0).set)).toBe(started)
  })

  test('ends at the highest priority that there is', () => {
    const { set, tried } = allowing(100)
    expect(takeLead(39, set)).toBe(-20)
    expect(tried).toEqual([-20])
  })

  test('of 0 steps is not asked for', () => {
    const { set, tried } = allowing(100)
    expect(takeLead(0, set)).toBe(started)
    expect(tried).toEqual([])
  })
})

test.runIf(process.platform !== 'linux')(
  'there is none where threads have no priorities of their own',
  () => {
    expect(takeLead(5, allowing(5).set)).toBe(started)
  },
)
