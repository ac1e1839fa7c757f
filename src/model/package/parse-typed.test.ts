/**
 * Problems of values that are not manifests: at least one for each, and none for a valid manifest. A validator of JSON
 * schemas decides which are valid.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { modelsDir } from '../../../test/helpers/model-packages.js'
import { manifestSchema, manifestSchemaText, manifestType } from './manifest-schema.js'
import { parseTyped } from './parse-typed.js'

const example = JSON.parse(readFileSync(join(modelsDir, 'example-1/manifest.json'), 'utf8')) as Json
/** Every form of a value once, so that a random path is often one that has rules of its own. */
const valid = [
  { path: ['features'], value: ['views', { name: 'up', transform: 'log1p' }] },
  { path: ['galleries'], value: ['programming'] },
  { path: ['execution_providers'], value: ['cpu', 'cuda'] },
  { path: ['provenance', 'date'], value: '2026-03-02' },
  { path: ['text', 'golden_tokens'], value: [{ text: '', ids: [2] }] },
].reduce<Json>((so, { path, value }) => changed(so, path, value), example)

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Path = readonly (string | number)[]

function shapeProblems(value: Json): string[] {
  try {
    parseTyped(JSON.stringify(value), 'f', manifestType)
    return []
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace(/^f: /, ''))
  }
}

/** Only the form that Date itself writes: its parser also reads other texts, "example-1" as a day of January 2001. */
function isDay(text: string): boolean {
  const start = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(`${text}T`)
}
const formats = { date: isDay, unicode: (text: string) => text.isWellFormed() }
const isManifest = new Ajv2020({ strict: false, formats }).compile(manifestSchema())

test('a value has problems if and only if it does not match the published schema', () => {
  expect(shapeProblems(valid)).toEqual([])
  const paths = [...pathsOf(valid)]
  const change = fc.record({
    path: fc.constantFrom(...paths),
    value: fc.oneof(
      fc.constantFrom<Json | undefined>(undefined, null, '', 'x', 'cls', 'mean', '2026-02-31', '2026-13-01'),
      fc.constantFrom<Json>(true, 0, 1, -1, 0.5, 2, 70_000, 2 ** 32, [], [''], ['a', 'a'], [1, 2, 3], {}),
      fc.constantFrom<Json>([1], ['cpu', 'cpu'], ['\ud83d'], ['x'.repeat(1025)], ['😀'.repeat(1024)]),
      fc.constantFrom<Json>({ shortest_edge: 4 }, { width: 4, height: 4 }, { name: 'x', column: 3 }),
      fc.constantFrom(...paths).map((path) => at(valid, path)),
    ),
    name: fc.constantFrom(null, null, 'extra', 'width', '__proto__'),
  })
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const value = changes.reduce<Json>(
        (so, { path, value: member, name }) => changed(so, name === null ? path : [...path, name], member),
        valid,
      )
      const problems = shapeProblems(value)
      expect(problems.length === 0, problems.join('\n')).toBe(isManifest(value))
      for (const problem of problems) expect(problem).not.toMatch(/undefined|\[object| , /)
    }),
    { numRuns: 3000 },
  )
})

describe('a value that fits no type of a union', () => {
  const resize = ['image', 'resize']
  const sizes = 'an object with shortest_edge or an object with width and height'

  test.each<[string, Path, Json, string[]]>([
    ['of another JSON type: all are named', resize, 7, [`image.resize must be ${sizes}, not 7`]],
    ['with members of none', resize, { edge: 7 }, [`image.resize must be ${sizes}, not {"edge":7}`]],
    [
      'with as many members of several',
      resize,
      { shortest_edge: 7, width: 7 },
      [`image.resize must be ${sizes}, not {"shortest_edge":7,"width":7}`],
    ],
    ['with members of one: the rules of that one', resize, { width: 7 }, ['image.resize.height is required']],
    [
      'with more members of one',
      resize,
      { shortest_edge: 7, width: 7, height: 0 },
      [
        'image.resize.shortest_edge is not known',
        'image.resize.height must be an integer from 1 to 4096, not 0',
      ],
    ],
    ['of one JSON type: the rules of that one', ['features', 0], '', ['features[0] must not be empty']],
    ['of literals', ['kind'], 'toy', ['kind must be one of trained, transport-test, not "toy"']],
    [
      'of a graph in a list of graphs',
      ['head'],
      [at(valid, ['head']), changed(at(valid, ['head']), ['file'], 'x/')],
      ['head[1].file must be a file of the package, such as head.onnx or text/model.onnx, not "x/"'],
    ],
  ])('%s', (_, path, value, problems) => expect(shapeProblems(changed(valid, path, value))).toEqual(problems))
})

test('every pattern of the schema has words', () => {
  const titles: unknown[] = []
  JSON.parse(manifestSchemaText(), (_, schema: { pattern?: unknown; title?: unknown } | null) => {
    if (typeof schema?.pattern === 'string') titles.push(schema.title)
    return schema
  })
  expect(titles.length).toBeGreaterThan(3)
  expect(titles).toEqual(titles.map(() => expect.any(String) as string))
  expect(shapeProblems(changed(valid, ['text', 'template'], 'x'))).toEqual([
    'text.template must be a text that holds {title}, not "x"',
  ])
})

test.each<[string, Path, Json, string]>([
  ['a member with a name that all objects know', ['image', '__proto__'], 1, 'image.__proto__ is not known'],
  [
    'an item twice',
    ['execution_providers'],
    ['cpu', 'cpu'],
    'execution_providers must not name an item twice',
  ],
])('%s is refused', (_, path, value, problem) => {
  expect(shapeProblems(changed(valid, path, value))).toEqual([problem])
})

test('a number that no double holds is refused', () => {
  const text = JSON.stringify(changed(valid, ['image', 'scale'], 'HUGE')).replace('"HUGE"', '1e999')
  expect(() => parseTyped(text, 'f', manifestType)).toThrow(
    /^f: image\.scale must be a number above 0, not Infinity$/,
  )
})

test('of very many problems the first 50 are listed', () => {
  const features = Array.from({ length: 500 }, (_, index) => index)
  const problems = shapeProblems(changed(valid, ['features'], features))
  expect(problems).toHaveLength(51)
  expect(problems.at(-1)).toBe('and 450 more')
})

function* pathsOf(value: Json, path: Path = []): Generator<Path> {
  yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value))
    yield* pathsOf(member, [...path, Array.isArray(value) ? Number(name) : name])
}

function at(value: Json, path: Path): Json {
  return path.reduce((so, name) => (so as Record<string | number, Json>)[name] as Json, value)
}

/** The value with a member replaced or removed. Paths that no longer exist change nothing. */
function changed(value: Json, [name, ...rest]: Path, member: Json | undefined): Json {
  if (name === undefined) return member ?? null
  if (typeof value !== 'object' || value === null) return value
  const entries = new Map<string, Json>(Object.entries(value))
  const old = entries.get(String(name))
  const fresh = rest.length === 0 ? member : old === undefined ? undefined : changed(old, rest, member)
  if (fresh === undefined) entries.delete(String(name))
  else entries.set(String(name), fresh)
  return Array.isArray(value) ? [...entries.values()] : Object.fromEntries(entries)
}
