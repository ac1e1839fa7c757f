/** What `npm run test:soak -- year` calls growth. */
import { expect, test } from 'vitest'
import { growthRules } from './growth-rules.js'
import type { Checkpoint } from './year.js'

const keptDays = { cycles: 14, images: 7, outcomes: 90 }

function on(day: number, changes: Partial<Checkpoint> = {}): Checkpoint {
  return {
    day,
    cycle: day * 288,
    pending: 600,
    ownMib: 250,
    rssMib: 900,
    modelsMib: 43,
    descriptors: 30,
    processes: 1,
    loopP99Ms: 5,
    loopMaxMs: 9,
    postP50Ms: 14,
    postP99Ms: 30,
    fileMib: 1000,
    reachedMib: 1000,
    liveMib: 900,
    backupMib: 900,
    startS: 1,
    reportS: 5,
    verifyS: 20,
    backupS: 4,
    ...changes,
  }
}
const broken = (checkpoints: Checkpoint[]): string[] =>
  growthRules(checkpoints, keptDays).flatMap(({ holds, words }) => (holds ? [] : [words.split(':')[0] ?? '']))

test('a level is compared from the day on which all retention is in force', () => {
  const young = on(14, { fileMib: 300, liveMib: 250, backupMib: 250 })
  expect(growthRules([young, on(96)], keptDays)).toEqual([])
  expect(growthRules([young, on(98), on(400)], keptDays)).toHaveLength(6)
  expect(broken([young, on(98), on(400)])).toEqual([])
  expect(broken([on(98), on(400, { fileMib: 1340 })])).toEqual([])
})

test('times may differ', () => {
  expect(broken([on(98), on(400, { startS: 9, verifyS: 99, postP50Ms: 80 })])).toEqual([])
})

test.each([
  ['data file, MiB', { fileMib: 1360 }],
  ['pages with records, MiB', { liveMib: 1010 }],
  ['backup, MiB', { backupMib: 1010 }],
  ['memory of the server, MiB', { ownMib: 320 }],
  ['memory of the model process, MiB', { modelsMib: 80 }],
  ['descriptors', { descriptors: 31 }],
] as const)('growth of the %s beyond its limit is a violation', (what, changes) => {
  expect(broken([on(98), on(400, changes)])).toEqual([what])
})
