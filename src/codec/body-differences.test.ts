/** What the error of a conflict contains: the first places where two bodies differ. */
import { expect, test } from 'vitest'
import { bodyDifferences } from './body-differences.js'

const lines = (was: unknown, is: unknown): string[] =>
  bodyDifferences(Buffer.from(JSON.stringify(was)), Buffer.from(JSON.stringify(is))).map(
    ({ path, problem }) => `${path}: ${problem}`,
  )

test('a difference has the path of the member, the value that is stored and the value that was sent', () => {
  const body = (row: object): object => ({
    cycle_id: 'x',
    engagement: [{}, { views: 900, status: 'ok', ...row }],
  })
  expect(lines(body({}), body({ views: 901 }))).toEqual(['engagement[1].views: was 900, is 901'])
  expect(lines(body({}), body({ status: 'missing' }))).toEqual([
    'engagement[1].status: was "ok", is "missing"',
  ])
  expect(lines(body({ up: null }), body({}))).toEqual(['engagement[1].up: was null, is absent'])
  expect(lines(body({}), body({ mood: [1] }))).toEqual(['engagement[1].mood: was absent, is a list'])
  expect(lines(body({ mood: [1] }), body({ mood: {} }))).toEqual([
    'engagement[1].mood: was a list, is an object',
  ])
  expect(lines([1], {})).toEqual([': was a list, is an object'])
  expect(lines({ __proto__: null, a: 1 }, { toString: 1, a: 1 })).toEqual(['toString: was absent, is 1'])
})

test('differences come in the order of the new body, members that it lacks last', () => {
  expect(lines({ a: 1, b: 2, c: { d: 3 } }, { c: { d: 4 }, b: 5 })).toEqual([
    'c.d: was 3, is 4',
    'b: was 2, is 5',
    'a: was 1, is absent',
  ])
})

test('lists of different lengths are one difference, and their common rows are compared', () => {
  expect(lines({ rows: [1] }, { rows: [] })).toEqual(['rows: had 1 entry, has 0'])
  expect(lines({ rows: [1, 2] }, { rows: [1, 3, 4] })).toEqual([
    'rows: had 2 entries, has 3',
    'rows[1]: was 2, is 3',
  ])
})

test('a long text or path is cut', () => {
  const [long] = bodyDifferences(
    Buffer.from(JSON.stringify({ ['n'.repeat(9999)]: 'a'.repeat(9999) })),
    Buffer.from(JSON.stringify({ ['n'.repeat(9999)]: 'b'.repeat(9999) })),
  )
  expect(long?.path.length).toBeLessThan(250)
  expect(long?.problem.length).toBeLessThan(120)
})

test('only the first twenty differences are listed, however many there are', () => {
  const rows = Array.from({ length: 5000 }, (_, views) => ({ views }))
  const moved = [{ views: -1 }, ...rows].slice(0, -1)
  expect(lines({ rows }, { rows: moved })).toHaveLength(20)
})

test('is Unicode text, whatever the names and values are', () => {
  const [was, is] = [1, 2].map((value) => ({
    [`${'n'.repeat(199)}😀`]: value,
    '\ud800': value,
    text: `${'t'.repeat(39)}😀${value}`,
    half: `\udc00${value}`,
  }))
  expect(lines(was, is)).toEqual([
    `${'n'.repeat(199)}…: was 1, is 2`,
    '\ufffd: was 1, is 2',
    `text: was "${'t'.repeat(39)}…", is "${'t'.repeat(39)}…"`,
    'half: was "\ufffd1", is "\ufffd2"',
  ])
})
