/**
 * docs/openapi.json is the document that the sources generate, and it is correct: linted, its examples match its schemas, and
 * docs/contract.md lists the same statuses.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  bodyExamples,
  checkCycle,
  checkOutcomes,
  checkWeights,
  errorsOf,
  errorTable,
  isDateTime,
  openApiDocument,
  operations,
  type Operation,
} from '../src/contract/index.js'
import { document, newAjv, problemOf, validatorOf } from './helpers/openapi-responses.js'
import { projectDir } from './helpers/project.js'

const read = (path: string): string => readFileSync(join(projectDir, path), 'utf8')
const table = Object.entries(operations as Readonly<Record<string, Operation>>)

test('docs/openapi.json is up to date: `npx understudy openapi > docs/openapi.json` writes it', () => {
  expect(read('docs/openapi.json')).toBe(`${JSON.stringify(openApiDocument(), null, 2)}\n`)
})

test('redocly finds no problem in it', () => {
  const { status, stdout, stderr } = spawnSync(
    join(projectDir, 'scripts/pinned'),
    ['redocly', 'lint', 'docs/openapi.json'],
    {
      cwd: projectDir,
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  )
  expect(status, stdout + stderr).toBe(0)
})

test('every operation of the table is in it, with all of its statuses', () => {
  for (const [id, { method, path }] of table)
    expect(document.paths[path]?.[method.toLowerCase()]).toMatchObject({ operationId: id })
  const count = Object.values(document.paths).flatMap((item) => Object.keys(item)).length
  expect(count).toBe(table.length)
})

test.each(Object.entries(bodyExamples))('the example of %s matches its schema', (type, example) => {
  const ajv = newAjv(isDateTime)
  const validate = validatorOf(ajv, `#/components/schemas/${type}`)
  expect(validate(example), ajv.errorsText(validate.errors)).toBe(true)
})

test('the examples of request bodies are accepted', () => {
  expect([
    checkCycle(bodyExamples.CycleRequest),
    checkOutcomes(bodyExamples.OutcomesRequest),
    checkWeights(bodyExamples.WeightsRequest),
  ]).toEqual([null, null, null])
})

test.each(table)('docs/contract.md lists the statuses of %s', (_id, operation) => {
  const { method, path, responses } = operation
  const text = read('docs/contract.md').split(`## ${method} ${path}\n`)[1] ?? ''
  const [, list = ''] = /Statuses: ([\d,\s]+)\./.exec(text) ?? []
  expect(list.split(/,\s+/).map(Number)).toEqual([
    ...Object.keys(responses).map(Number),
    ...errorsOf(operation).map((kind) => errorTable[kind].status),
  ])
})

describe('a response that differs from the document is found', () => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
  const health = {
    method: 'GET',
    path: '/v1/health?x',
    status: 200,
    headers,
    body: json(bodyExamples.Health),
  }
  const error = json({ error: { code: 'server_error', message: 'm' } })

  test.each([
    ['its status', { ...health, status: 204 }, 'this status is not documented'],
    ['its media type', { ...health, headers: {} }, 'Content-Type is ""'],
    ['its syntax', { ...health, body: Buffer.from('{') }, 'the body is not JSON'],
    ['a member', { ...health, body: json({ ...bodyExamples.Health, time: 'now' }) }, 'body/time must match'],
    ['a header', { ...health, status: 503, body: error }, 'Retry-After is missing'],
    ['an unknown path', { ...health, path: '/v1/other' }, 'this status is not documented'],
  ])('in %s', (_what, response, problem) => {
    expect(problemOf(response)).toContain(problem)
  })

  test('and one that does not is accepted', () => {
    expect(problemOf(health)).toBe(null)
    expect(problemOf({ ...health, method: 'HEAD', body: Buffer.alloc(0) })).toBe(null)
    const unavailable = { ...headers, 'retry-after': '5' }
    expect(problemOf({ ...health, status: 503, headers: unavailable, body: error })).toBe(null)
    expect(problemOf({ ...health, method: 'PUT', status: 405, body: error })).toBe(null)
  })
})
