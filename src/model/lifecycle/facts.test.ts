/** Which failures of versions other processes are shown. */
import { expect, test } from 'vitest'
import { statusOf } from './facts.js'
import type { VersionFacts } from './lifecycle-parts.js'
import type { VersionFailure } from './status-file.js'

function failedVersions(versions: Record<string, VersionFacts['state']>, isReplaced: boolean): string[] {
  const facts = Object.entries(versions).map(([version, state]): VersionFacts => {
    const unknown = { changed: null, kind: null, provider: null, placements: [], processes: [] }
    return { version, role: state === 'shadow' ? 'shadow' : 'active', state, ...unknown }
  })
  const failures = ['good', 'bad'].map((version): [string, VersionFailure] => [
    version,
    { version, role: 'active', problem: 'no file', atMs: 0 },
  ])
  const fallback = isReplaced
    ? { version: 'good', failed: 'bad', cause: 'cycles' as const, stamp: null, isTriedAgain: false }
    : null
  return statusOf(facts, fallback, new Map(failures)).failures.map(({ version }) => version)
}

test('a failure is over when its version serves, is a shadow, or is named no more', () => {
  expect(failedVersions({ good: 'serving', bad: 'failed' }, false)).toEqual(['bad'])
  expect(failedVersions({ good: 'serving', bad: 'loading' }, false)).toEqual(['bad'])
  expect(failedVersions({ good: 'wanted', bad: 'shadow' }, false)).toEqual(['good'])
  expect(failedVersions({}, false)).toEqual([])
})

test('a version that was replaced stays among the failures, and the one that serves instead does not', () => {
  expect(failedVersions({ good: 'serving', bad: 'failed' }, true)).toEqual(['bad'])
  expect(failedVersions({ good: 'serving', bad: 'shadow' }, true)).toEqual(['bad'])
})
