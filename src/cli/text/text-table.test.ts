/**
 * Display widths in terminal cells, with Korean text.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cellWidth, fitCells, formatTable, wrapCells } from './text-table.js'

test.each([
  ['score', 5],
  ['한글 제목', 9],
  ['ㅋㅋㅋ', 6],
  ['漢字', 4],
  ['🎉!', 3],
  ['e\u0301', 1],
  ['～…', 3],
])('%j takes %i cells', (text, cells) => {
  expect(cellWidth(text)).toBe(cells)
})

const words = fc.string({ unit: fc.constantFrom('a', '1', ' ', '한', 'ㅠ', '漢', '🎉', '\n', '\u0301') })

test('a text is cut to the given width, and is unchanged if it fits', () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 1, max: 20 }), (text, cells) => {
      const fitted = fitCells(text, cells)
      expect(cellWidth(fitted)).toBeLessThanOrEqual(cells)
      expect(fitted).not.toContain('\n')
      if (cellWidth(text.replaceAll('\n', ' ')) <= cells) expect(fitted).toBe(text.replaceAll('\n', ' '))
    }),
  )
})

test('columns are aligned in cells, and numbers to the right', () => {
  const table = formatTable(
    ['제목', 'score'],
    [
      ['안녕하세요', '0.5'],
      ['hello', '10.25'],
    ],
  )
  expect(table).toBe(
    ['제목        score', '──────────  ─────', '안녕하세요    0.5', 'hello       10.25', ''].join('\n'),
  )
})

test('wrapping removes only spaces and breaks no word, and no line of several words exceeds the width', () => {
  fc.assert(
    fc.property(words, fc.integer({ min: 2, max: 20 }), (text, cells) => {
      const lines = wrapCells(text, cells)
      for (const line of lines) if (line.includes(' ')) expect(cellWidth(line)).toBeLessThanOrEqual(cells)
      const wordsOf = (of: string): string[] => of.split(/[ \n]+/).filter((word) => word !== '')
      expect(lines.flatMap(wordsOf)).toEqual(wordsOf(text))
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(/[ \n]/g, ''))
    }),
  )
})

test('a table that is too wide for the terminal wraps one column', () => {
  const rows = [
    ['1', '안녕하세요 여러분 반갑습니다', 'x'],
    ['2', 'short', 'y'],
  ]
  const wrapped = formatTable(['', 'title', ''], rows, { cellsMax: 20, column: 1 })
  for (const line of wrapped.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(20)
  expect(wrapped.split('\n').slice(2, 5)).toEqual(['1  안녕하세요      x', '   여러분', '   반갑습니다'])
  expect(formatTable(['', 'title', ''], rows, { cellsMax: undefined, column: 1 })).toContain('반갑습니다')
})

test('a table that is too wide for the terminal wraps its titles first', () => {
  const table = formatTable(['order', 'ranked below a post'], [['a long name', '5']], {
    cellsMax: 19,
    column: 0,
  })
  expect(table.split('\n')).toEqual([
    'order        ranked',
    '              below',
    '             a post',
    '───────────  ──────',
    'a long name       5',
    '',
  ])
})

test('control characters and changes of direction in a cell are spaces', () => {
  const table = formatTable(['a', 'b'], [['\u001b[31mred', 'one\u202eowt']])
  expect(table.split('\n')[2]).toBe(' [31mred  one owt')
})

test('a column of numbers with empty cells is aligned to the right', () => {
  expect(
    formatTable(['features'], [['122'], [''], ['7']])
      .split('\n')
      .slice(2, 5),
  ).toEqual(['     122', '', '       7'])
})
