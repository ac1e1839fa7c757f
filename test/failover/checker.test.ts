/**
 * The checker finds each kind of violation in recorded histories, and none in a correct one.
 */
import { expect, test } from 'vitest'
import { checkHistory } from './checker.js'
import type { Attempt, Content, History, Operation } from './history.js'

const cycleStartMs = Date.UTC(2024, 2, 1)
const id = (index: number): string => `20240301T00${String(5 * index).padStart(2, '0')}`

function attempt(operation: Operation, startedMs: number, parts: Partial<Attempt> = {}): Attempt {
  const content: Content = { sha256: 'body' }
  const ended = { endedMs: startedMs + 1, status: 200, content }
  return { operation, sent: 'request', via: 'balancer', startedMs, ...ended, ...parts }
}

function refused(operation: Operation, startedMs: number, status: number | null): Attempt {
  return attempt(operation, startedMs, { status, content: null })
}

function cycle(
  index: number,
  startedMs: number,
  parts: { weights?: string; model?: string; sha256?: string } = {},
) {
  const { weights = 'initial', model = 'm', sha256 = `response ${index}` } = parts
  const labels = { cycleMs: cycleStartMs + index * 300_000, weights, model }
  return attempt({ kind: 'cycle', cycleId: id(index) }, startedMs, { content: { sha256, labels } })
}

function scores(index: number, startedMs: number, sha256 = `response ${index}`): Attempt {
  return attempt({ kind: 'scores', cycleId: id(index) }, startedMs, { content: { sha256 } })
}

const weights = (version: string, startedMs: number, firstCycle: number): Attempt =>
  attempt({ kind: 'weights', version }, startedMs, {
    content: { sha256: version, firstCycleMs: cycleStartMs + firstCycle * 300_000 },
  })
const readWeights = (version: string, startedMs: number): Attempt =>
  attempt({ kind: 'current weights' }, startedMs, { content: { sha256: version, version } })
const image = (startedMs: number, status: number): Attempt =>
  attempt({ kind: 'image', path: '/v1/images/g/1/01' }, startedMs, { status })
const outcome = (startedMs: number, created: number): Attempt =>
  attempt({ kind: 'outcomes', placementIds: ['p'] }, startedMs, { content: { sha256: '', created } })

/** Two cycles with a takeover between them, and everything read again. */
const correct: History = {
  attempts: [
    cycle(0, 10),
    weights('w1', 11, 1),
    image(12, 201),
    outcome(13, 1),
    refused({ kind: 'cycle', cycleId: id(1) }, 20, null),
    refused({ kind: 'cycle', cycleId: id(1) }, 30, 503),
    cycle(1, 40, { weights: 'w1' }),
    // The first attempt, to which a suspended process responds late.
    { ...cycle(1, 15, { weights: 'w1' }), endedMs: 90 },
    scores(0, 100),
    scores(1, 101),
    image(102, 200),
    outcome(103, 0),
    readWeights('w1', 104),
  ],
  outages: [{ fault: 'the owner is killed', startedMs: 20, limitMs: 30, readyMs: 41 }],
  staleReads: [],
  readAgainMs: 95,
  stored: {
    cycles: [
      { cycleId: id(0), position: 1 },
      { cycleId: id(1), position: 2 },
    ],
    entries: [
      { number: 1, epoch: 1 },
      { number: 2, epoch: 2 },
    ],
  },
}

/** The correct history with further attempts. */
const withAttempts = (...more: readonly Attempt[]): History => ({
  ...correct,
  attempts: [...correct.attempts, ...more],
})
const without = (isMeant: (attempt: Attempt) => boolean): History => ({
  ...correct,
  attempts: correct.attempts.filter((each) => !isMeant(each)),
})
const withStored = (stored: Partial<History['stored']>): History => ({
  ...correct,
  stored: { ...correct.stored, ...stored },
})

test('a correct history has no violation', () => {
  expect(checkHistory(correct)).toEqual([])
})

test('a process that has lost its lease may serve earlier reads while the clock of the database is wrong', () => {
  const stale = refused({ kind: 'scores', cycleId: id(1) }, 60, 404)
  expect(checkHistory(withAttempts(stale))).toHaveLength(1)
  expect(checkHistory({ ...withAttempts(stale), staleReads: [{ fromMs: 50, toMs: 70 }] })).toEqual([])
})

test.each<[string, History, string]>([
  [
    'a second response to a cycle',
    withAttempts(cycle(1, 50, { weights: 'w1', sha256: 'other' })),
    'two responses',
  ],
  ['another stored response', withAttempts(scores(0, 110, 'other')), 'two responses'],
  [
    'a cycle that was acknowledged although only the lost primary had it',
    {
      ...without(({ operation, startedMs }) => operation.kind === 'scores' && startedMs === 100),
      stored: { ...correct.stored, cycles: [{ cycleId: id(1), position: 1 }] },
    },
    `cycle ${id(0)} was acknowledged and is not readable`,
  ],
  [
    'a process that does not have an acknowledged cycle',
    withAttempts(refused({ kind: 'scores', cycleId: id(0) }, 60, 404)),
    'does not have it',
  ],
  [
    'a cycle that is not in the journal',
    withStored({ cycles: correct.stored.cycles.slice(0, 1) }),
    `cycle ${id(1)} was acknowledged and is not in the journal`,
  ],
  ['an image that is stored twice', withAttempts(image(110, 201)), 'did not have it'],
  ['an outcome that is created twice', withAttempts(outcome(110, 1)), 'did not have outcomes'],
  ['weights that went back', withAttempts(readWeights('initial', 110)), 'has older ones'],
  [
    'a gap in the positions',
    withStored({
      cycles: [
        { cycleId: id(0), position: 1 },
        { cycleId: id(1), position: 3 },
      ],
    }),
    'has position 3, and not 2',
  ],
  [
    'cycles in another order',
    withStored({
      cycles: [
        { cycleId: id(1), position: 1 },
        { cycleId: id(0), position: 2 },
      ],
    }),
    `cycle ${id(0)} follows ${id(1)}`,
  ],
  [
    'a gap in the entries',
    withStored({
      entries: [
        { number: 1, epoch: 1 },
        { number: 3, epoch: 1 },
      ],
    }),
    'has entry 3 after 1',
  ],
  [
    'a commit of an owner that was replaced',
    withStored({
      entries: [
        { number: 1, epoch: 2 },
        { number: 2, epoch: 1 },
      ],
    }),
    'entry 2 has epoch 1, after epoch 2',
  ],
  ['other weights than those set', withAttempts(cycle(2, 50)), 'has the weights initial, and not w1'],
  ['another model', withAttempts(cycle(2, 50, { weights: 'w1', model: 'n' })), 'has the model n, and not m'],
  [
    'a repeat that is refused for good',
    withAttempts(refused({ kind: 'cycle', cycleId: id(0) }, 60, 409)),
    'status 409',
  ],
  [
    'other bytes under a known id',
    withAttempts({ ...cycle(0, 60), sent: 'other request' }),
    'other bytes were accepted',
  ],
  ['an error', withAttempts(refused({ kind: 'current weights' }, 60, 500)), 'status 500'],
  [
    'a takeover that takes too long',
    { ...correct, outages: [{ fault: 'f', startedMs: 0, limitMs: 30, readyMs: 31 }] },
    'ready after 31 ms, and not within 30',
  ],
  [
    'nobody who takes over',
    { ...correct, outages: [{ fault: 'f', startedMs: 0, limitMs: 30, readyMs: null }] },
    'no process became ready',
  ],
])('%s is a violation', (_, history, words) => {
  expect(checkHistory(history).join('\n')).toContain(words)
})
