/** The text of `understudy journal status`. */
import { expect, test } from 'vitest'
import type { JournalStatus } from '../../store/index.js'
import { journalStatusText } from './journal-status-text.js'

const environment: JournalStatus['environments'][number] = {
  environment: 'live',
  owner: 'host1:/data',
  epoch: 3,
  entry: 41,
  entryAgeS: 7,
  leaseSLeft: 18,
  cycles: 40,
  lastCycleId: '20260302T1200',
  isComplete: true,
}
const status: JournalStatus = {
  servers: [{ address: 'one:5432', state: 'primary, timeline 2' }],
  schemaVersion: 6,
  synchronousStandbys: 'ANY 1 (*)',
  standbys: [{ name: 'db2', syncState: 'quorum', lagBytes: 0 }],
  environments: [environment],
}

function linesOf(changes: Partial<JournalStatus>): string[] {
  const text = journalStatusText({ ...status, ...changes })
  return text.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '))
}

test('each environment has its owner, its lease and what it stored last', () => {
  const none = { ...environment, environment: 'test', owner: null, leaseSLeft: 0, epoch: 0, entry: 0 }
  const empty = { ...none, entryAgeS: null, cycles: 0, lastCycleId: null }
  const importing = { ...environment, environment: 'new', isComplete: false }
  expect(
    linesOf({ environments: [environment, empty, importing] }).filter((line) => !line.startsWith('─')),
  ).toEqual([
    'environment | owner | lease | epoch | newest entry | newest cycle',
    'live | host1:/data | 18 s | 3 | 41, 7 s ago | 20260302T1200, 40 in all',
    'test | none | 0 | none | none',
    'new | import is not complete | 18 s | 3 | 41, 7 s ago | 20260302T1200, 40 in all',
    'commits wait for: ANY 1 (*)',
    'PostgreSQL one:5432: primary, timeline 2',
    'PostgreSQL standby db2: quorum, 0 bytes behind',
    '',
  ])
})

test.each<[what: string, changes: Partial<JournalStatus>, lines: string[]]>([
  ['no environment', { environments: [] }, ['no environments']],
  [
    'no synchronous standby',
    { synchronousStandbys: '', standbys: [] },
    ['commits wait for no other PostgreSQL server: what the disk of the primary loses is lost'],
  ],
  ['no standby that is connected', { standbys: [] }, ['no PostgreSQL standby is connected: commits wait']],
  [
    'a user that may not see standbys',
    { standbys: [{ name: 'db2', syncState: null, lagBytes: null }] },
    ['PostgreSQL standby db2: unknown; to see more, run: grant pg_monitor to USER'],
  ],
  [
    'a standby of unknown lag',
    { standbys: [{ name: 'db2', syncState: 'async', lagBytes: null }] },
    ['PostgreSQL standby db2: async, unknown bytes behind'],
  ],
  [
    'two primaries',
    {
      servers: [
        { address: 'one:5432', state: 'primary, timeline 1' },
        { address: 'two:5432', state: 'primary, timeline 2' },
        { address: 'three:5432', state: 'standby' },
      ],
    },
    [
      'PostgreSQL one:5432: primary, timeline 1',
      'PostgreSQL two:5432: primary, timeline 2',
      'PostgreSQL three:5432: standby',
      'TWO SERVERS ARE PRIMARIES: stop the one with the lower timeline',
    ],
  ],
])('%s is said', (_, changes, lines) => {
  const before = new Set(linesOf({}))
  const added = linesOf(changes).filter((line) => !before.has(line) || lines.includes(line))
  expect(added).toEqual(lines)
})
