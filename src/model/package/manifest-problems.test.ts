/**
 * What an author is told of a manifest that is none: always something, and never of one that is sound.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import typia from 'typia'
import { expect, test } from 'vitest'
import { modelsDir } from '../../../test/helpers/model-packages.js'
import { shapeProblems } from './manifest-problems.js'
import { manifestSchemaText } from './manifest-schema.js'
import type { Manifest } from './manifest.js'

const isManifest = typia.createEquals<Manifest>()
const sound = JSON.parse(readFileSync(join(modelsDir, 'example-1/manifest.json'), 'utf8')) as Json

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
type Place = readonly (string | number)[]

test('a value has problems if and only if it does not validate', () => {
  expect(shapeProblems(sound)).toEqual([])
  const places = [...placesOf(sound)]
  const change = fc.record({
    place: fc.constantFrom(...places),
    value: fc.oneof(
      fc.constantFrom<Json | undefined>(undefined, null, '', 'x', 'cls', 'mean', '2026-02-31', '2026-13-01'),
      fc.constantFrom<Json>(true, 0, 1, -1, 0.5, 2, 70_000, 2 ** 32, [], [''], ['a', 'a'], [1, 2, 3], {}),
      fc.constantFrom<Json>({ shortest_edge: 4 }, { width: 4, height: 4 }, { name: 'x', column: 3 }),
      fc.constantFrom(...places).map((place) => at(sound, place)),
    ),
    name: fc.constantFrom(null, null, 'extra', 'width', 'p_luck', 'pool', '__proto__'),
  })
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const value = changes.reduce<Json>(
        (so, { place, value: member, name }) => changed(so, name === null ? place : [...place, name], member),
        sound,
      )
      const problems = shapeProblems(value)
      expect(problems.length === 0, problems.join('\n')).toBe(isManifest(value))
      for (const problem of problems) expect(problem).not.toMatch(/undefined|\$input|&|<|matches/)
    }),
    { numRuns: 3000 },
  )
})

test('every pattern of the schema has words', () => {
  const patterns = [...manifestSchemaText().matchAll(/"pattern": (".*")/g)]
  expect(patterns.length).toBeGreaterThan(3)
  const told = shapeProblems(changed(changed(sound, ['model_version'], '/'), ['text', 'template'], 'x'))
  expect(told).toEqual([
    'model_version must be a name of letters, digits, ".", "_" and "-" that begins with a letter or a digit, and is "/"',
    'text.template must be a text that holds {title}, and is "x"',
  ])
})

test('a manifest with very many problems is told the first ones', () => {
  const features = Array.from({ length: 500 }, (_, index) => index)
  const told = shapeProblems(changed(sound, ['features'], features))
  expect(told).toHaveLength(51)
  expect(told.at(-1)).toBe('and 450 more')
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

/** The value with another member in its place, or without it. Places that are no longer there are left alone. */
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
