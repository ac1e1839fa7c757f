/**
 * Problems of values that are not manifests: at least one for each, and none for a valid manifest.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { modelsDir } from '../../../test/helpers/model-packages.js'
import { manifestSchemaText } from './manifest-schema.js'
import { validateManifest } from './parse-manifest.js'
import { parseTyped } from './parse-typed.js'

const valid = JSON.parse(readFileSync(join(modelsDir, 'example-1/manifest.json'), 'utf8')) as Json

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Place = readonly (string | number)[]

function shapeProblems(value: Json): string[] {
  try {
    parseTyped(JSON.stringify(value), 'f', validateManifest)
    return []
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace(/^f: /, ''))
  }
}

test('a value has problems if and only if it does not validate', () => {
  expect(shapeProblems(valid)).toEqual([])
  const places = [...placesOf(valid)]
  const change = fc.record({
    place: fc.constantFrom(...places),
    value: fc.oneof(
      fc.constantFrom<Json | undefined>(undefined, null, '', 'x', 'cls', 'mean', '2026-02-31', '2026-13-01'),
      fc.constantFrom<Json>(true, 0, 1, -1, 0.5, 2, 70_000, 2 ** 32, [], [''], ['a', 'a'], [1, 2, 3], {}),
      fc.constantFrom<Json>({ shortest_edge: 4 }, { width: 4, height: 4 }, { name: 'x', column: 3 }),
      fc.constantFrom(...places).map((place) => at(valid, place)),
    ),
    name: fc.constantFrom(null, null, 'extra', 'width', 'p_luck', 'pool', '__proto__'),
  })
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const value = changes.reduce<Json>(
        (so, { place, value: member, name }) => changed(so, name === null ? place : [...place, name], member),
        valid,
      )
      const problems = shapeProblems(value)
      expect(problems.length === 0, problems.join('\n')).toBe(validateManifest(value).success)
      for (const problem of problems) expect(problem).not.toMatch(/undefined|\$input|&|<|__type|Pattern| , /)
    }),
    { numRuns: 3000 },
  )
})

test('every pattern of the schema has a description', () => {
  const patterns = [...manifestSchemaText().matchAll(/"pattern": (".*")/g)]
  expect(patterns.length).toBeGreaterThan(3)
  const problems = shapeProblems(changed(changed(valid, ['model_version'], '/'), ['text', 'template'], 'x'))
  expect(problems).toEqual([
    'model_version must be a name of letters, digits, ".", "_" and "-" that begins with a letter or a digit, not "/"',
    'text.template must be a text that holds {title}, not "x"',
  ])
})

test('of very many problems the first 50 are listed', () => {
  const features = Array.from({ length: 500 }, (_, index) => index)
  const problems = shapeProblems(changed(valid, ['features'], features))
  expect(problems).toHaveLength(51)
  expect(problems.at(-1)).toBe('and 450 more')
})

function* placesOf(value: Json, place: Place = []): Generator<Place> {
  yield place
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value))
    yield* placesOf(member, [...place, Array.isArray(value) ? Number(name) : name])
}

function at(value: Json, place: Place): Json {
  return place.reduce((so, name) => (so as Record<string | number, Json>)[name] as Json, value)
}

/** The value with a member replaced or removed. Paths that no longer exist change nothing. */
function changed(value: Json, [name, ...rest]: Place, member: Json | undefined): Json {
  if (name === undefined) return member ?? null
  if (typeof value !== 'object' || value === null) return value
  const entries = new Map<string, Json>(Object.entries(value))
  const old = entries.get(String(name))
  const fresh = rest.length === 0 ? member : old === undefined ? undefined : changed(old, rest, member)
  if (fresh === undefined) entries.delete(String(name))
  else entries.set(String(name), fresh)
  return Array.isArray(value) ? [...entries.values()] : Object.fromEntries(entries)
}
