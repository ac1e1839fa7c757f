/** The shapes of results, compared with the schemas of the contract. */
import { expect, test } from 'vitest'
import { bodyExamples, openApiDocument, operations, type OperationId } from '../contract/index.js'
import { findMismatch } from './response-shape.js'

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

const { schemas } = openApiDocument().components as { schemas: Record<string, Schema> }

function resolved(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : resolved(schemas[schema.$ref.split('/').at(-1) ?? '']!)
}

/** The value at a path of names and indices. */
function at(value: unknown, path: readonly string[]): Record<string, unknown> {
  return path.reduce((inner, name) => (inner as Record<string, unknown>)[name], value) as Record<
    string,
    unknown
  >
}

/** Paths of all members that the schema requires and the value has. */
function requiredPaths(schema: Schema, value: unknown, path: readonly string[] = []): string[][] {
  if (value === null) return []
  const { properties = {}, required = [], items, oneOf } = resolved(schema)
  if (oneOf !== undefined) return oneOf.flatMap((option) => requiredPaths(option, value, path))
  if (items !== undefined)
    return (value as unknown[]).flatMap((item, index) => requiredPaths(items, item, [...path, String(index)]))
  return required.flatMap((name) => [
    [...path, name],
    ...requiredPaths(properties[name]!, (value as Record<string, unknown>)[name], [...path, name]),
  ])
}

const results = (Object.keys(operations) as OperationId[]).map((id) => {
  const name = operations[id].responses[200]
  const value: unknown = bodyExamples[name]
  return [id, name, value] as const
})

test.each(results)(
  'the example of the result of %s matches, with unknown members too',
  (id, _name, value) => {
    expect(findMismatch(id, value)).toBe(null)
    expect(findMismatch(id, { ...(value as object), added: 1 })).toBe(null)
  },
)

test.each(results)(
  '%s: without a required member, or with another type, it does not match',
  (id, name, value) => {
    const paths = requiredPaths(schemas[name]!, value)
    expect(paths.length).toBeGreaterThan(1)
    for (const path of paths) {
      for (const wrong of [undefined, true]) {
        const changed: unknown = structuredClone(value)
        at(changed, path.slice(0, -1))[path.at(-1)!] = wrong
        expect(findMismatch(id, JSON.parse(JSON.stringify(changed))), path.join('.')).not.toBe(null)
      }
    }
  },
)

test.each<[string, unknown, string]>([
  ['a list', [], ''],
  ['null', null, ''],
  ['an error record', { error: { code: 'c', message: 'm' } }, 'cycle_id'],
])('%s is no result of a cycle', (_what, value, path) => {
  expect(findMismatch('postCycle', value)).toBe(path)
})

const response = bodyExamples.CycleResponse
const [row] = response.results

test.each<[string, object, string]>([
  ['no results', { results: undefined }, 'results'],
  ['an object as results', { results: {} }, 'results'],
  ['fewer rows than its counts', { results: [] }, 'counts.results'],
  ['a row without an id', { results: [{ ...row, post_no: undefined }] }, 'results[0].post_no'],
  ['a status that the contract does not have', { results: [{ ...row, status: 'ok' }] }, 'results[0].status'],
  ['a scored row without a score', { results: [{ ...row, score: null }] }, 'results[0].score'],
  ['a score of a row that waits', { results: [{ ...row, status: 'waiting' }] }, 'results[0].score'],
  ['a warning that is not a text', { warnings: [1] }, 'warnings[0]'],
  ['a count that is not one', { counts: { ...response.counts, removals: -1 } }, 'counts.removals'],
])('a response with %s is reported with its path', (_what, change, path) => {
  expect(findMismatch('postCycle', { ...response, ...change })).toBe(path)
})
