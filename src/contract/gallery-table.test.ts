/** Galleries and their codes. */
import { expect, test } from 'vitest'
import { GalleryTable } from './gallery-table.js'

test('an id keeps the code of its first appearance, which is its index', () => {
  const table = new GalleryTable()
  expect(['g', 'h', 'g', '', 'h'].map((id) => table.code(id))).toEqual([0, 1, 0, 2, 1])
  expect(table.ids).toEqual(['g', 'h', ''])
})
