/** Records that the journal keeps in parts are put together again only from their own parts, all of them and in order. */
import { describe, expect, test } from 'vitest'
import { databaseTable, packBytes } from '../records/index.js'
import { PartJoiner, type PartRow } from './changes.js'

const requests = databaseTable.requests.kindNumber
const responses = databaseTable.responses.kindNumber
const record = packBytes(Uint8Array.from({ length: 30 }, (_, index) => index))

/** Ten bytes of the record each, the last part what remains. */
function partOf(part: number, { kind = requests, key = 7 }: { kind?: number; key?: number } = {}): PartRow {
  const end = part === 2 ? record.length : 10 * (part + 1)
  return {
    kind,
    key: Buffer.from([0, 0, 0, key]),
    part,
    entry: 3,
    value: Buffer.from(record.subarray(10 * part, end)),
  }
}

function joined(rows: readonly PartRow[]): unknown[] {
  const joiner = new PartJoiner()
  const changes = rows.map((row) => joiner.add(row))
  return [...changes, joiner.end()].filter((change) => change !== null)
}

test('the parts of a record give the record, and a row without a value its removal', () => {
  const removed: PartRow = { ...partOf(0, { key: 8 }), value: null }
  expect(joined([partOf(0), partOf(1), partOf(2), removed])).toEqual([
    { kind: 'requests', key: 7, value: new Uint8Array(record) },
    { kind: 'requests', key: 8, value: null },
  ])
})

describe('a part is missing when the next row is', () => {
  test.each([
    ['a part of another key', partOf(1, { key: 8 })],
    ['a part of another kind', partOf(1, { kind: responses })],
    ['a later part', partOf(2)],
  ])('%s', (_, row) => {
    const joiner = new PartJoiner()
    joiner.add(partOf(0))
    expect(() => joiner.add(row)).toThrow('the journal is damaged: a part is missing')
  })

  test('a part that follows no first one', () => {
    expect(() => new PartJoiner().add(partOf(1))).toThrow('the journal is damaged: a part is missing')
  })
})
