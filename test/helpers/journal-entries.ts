/**
 * Entries of a journal for tests that use it without a store.
 */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Change } from '../../src/store/records/index.js'
import { originMark, type EntryMark, type NewEntry } from '../../src/store/journal/journal.js'
import { PostgresJournal } from '../../src/store/journal/postgres-journal.js'
import { packRecord } from '../../src/store/records/envelope.js'
import { packPosition } from '../../src/store/records/payloads.js'
import { journalUrl, newEnvironment } from './journals.js'
import { bytesOf } from './store-samples.js'

export async function newJournal(environment = newEnvironment(), standbyCount = 0): Promise<PostgresJournal> {
  return PostgresJournal.open({
    url: await journalUrl(standbyCount),
    environment,
    statementMsMax: 3000,
    create: true,
  })
}

export function record(...values: readonly number[]): Uint8Array {
  return packRecord(0, [bytesOf(...values)])
}

export function pool(value: number): Change {
  return { kind: 'pool', key: 0, value: record(value) }
}

export async function lease(journal: PostgresJournal, node = 'node') {
  return (await journal.acquire(node)) ?? expect.fail('the lease is taken')
}

export function entry(
  epoch: number,
  after: number,
  changes: readonly Change[],
  cycleIds: readonly string[] = [],
): NewEntry {
  const cycles = cycleIds.map((id): Change => ({
    kind: 'cycleIds',
    key: Buffer.from(id),
    value: packPosition(after + 1),
  }))
  return { epoch, after, token: randomUUID(), changes: [...changes, ...cycles] }
}

export async function read(journal: PostgresJournal, from: EntryMark = originMark) {
  const changes: Change[] = []
  const result = await journal.follow(from, (batch) => {
    changes.push(...batch)
    return Promise.resolve()
  })
  return { changes, result }
}
