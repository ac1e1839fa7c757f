/** Saved pools are read as they were packed, and by the layout that wrote them alone. */
import { expect, test } from 'vitest'
import { unpackTable, packTable } from '../codec/index.js'
import { packSavedPool, poolTable, readSavedPool, type PoolRows } from './saved-pool.js'

const header = { position: 7, newestCycleMs: 1_767_200_000_000, galleries: ['야구', 'g'] }

/** Each column with other values. */
const rows = {
  count: 2,
  ...Object.fromEntries(poolTable.columns.map(({ name }, index) => [name, Float64Array.of(index, NaN)])),
} as PoolRows

test('header and columns are read as they were packed', () => {
  const { header: read, rows: columns } = readSavedPool(packSavedPool(header, rows))
  expect(read).toMatchObject({ ...header, layout: 1 })
  expect(columns).toEqual(rows)
})

test('each column has one name', () => {
  const names = poolTable.columns.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(expect.arrayContaining(['postNo', 'posts.title.chars', 'latest.views']))
})

test('a saved pool of another layout is an error', () => {
  const { header: packed, rowCount, columns } = unpackTable(packSavedPool(header, rows))
  const other = packTable({ ...(packed as object), layout: 2 }, rowCount, columns)
  expect(() => readSavedPool(other)).toThrow('has layout 2, not 1')
})
