/**
 * docs/contract.md and the README: their messages are those that the service sends, and the tables of errors and warnings are
 * complete.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorTable, warningCodes, warningText } from '../../src/contract/index.js'
import { cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { smallJpeg } from '../harness/jpeg.js'
import { projectDir } from '../helpers/project.js'
import { started } from '../helpers/servers.js'

const textOf = (file: string): string => readFileSync(join(projectDir, file), 'utf8')
const page = textOf('docs/contract.md')
const messages = [...page.matchAll(/^```json\n([^]*?)^```$/gm)].map(
  ([, text = '']) => JSON.parse(text) as object,
)

/** What begins the entries of the list under a heading, before their colon. */
function listed(heading: string): string[] {
  const [, after = ''] = page.split(`\n${heading}\n`)
  const [section = ''] = after.split('\n#')
  return [...section.matchAll(/^- (\*\*.*?\*\*|`.*?`):/gm)].map(([, entry = '']) =>
    entry.replaceAll(/[*`]/g, ''),
  )
}

test('the service responds to the request of the page with the response of the page', async () => {
  const [request, response] = messages.filter((message) => 'cycle_id' in message)
  const server = await started()
  const { status, json } = await server.postCycle(request)
  expect(status).toBe(200)
  const { received_at, scored_at } = json as Record<string, unknown>
  expect(json).toEqual({ ...response, received_at, scored_at })
})

test('the service responds to the cycle of the README with the response of the README', async () => {
  const [, shown = ''] = /^```json\n([^]*?)^```$/m.exec(textOf('README.md')) ?? []
  const server = await started()
  const { status, json } = await server.postCycle(JSON.parse(textOf('docs/examples/cycle.json')))
  expect(status).toBe(200)
  const { received_at, scored_at } = json as Record<string, unknown>
  expect(json).toEqual({ ...(JSON.parse(shown) as object), received_at, scored_at })
})

test('the errors of the page are those of the service', async () => {
  const server = await started()
  const cycle = cycleBody(0, { engagement: [1, 2, 3, 4].map((postNo) => reading('g', postNo, cycleMs(0))) })
  const withViews = (views: number): object => ({
    ...cycle,
    engagement: cycle.engagement.map((row, index) => (index === 3 ? { ...row, views } : row)),
  })
  const invalid = await server.postCycle(withViews(-1))
  expect([invalid.status, invalid.json]).toEqual([400, messages.find((message) => 'error' in message)])
  await server.postCycle(withViews(900))
  const { status, json } = await server.postCycle(withViews(901))
  expect(status).toBe(409)
  const [field] = (json as { error: { fields: { path: string; problem: string }[] } }).error.fields
  expect(page).toContain(`{"path": "${field?.path}", "problem": "${field?.problem}"}`)
})

test('the response to an image has the form of the page', async () => {
  const server = await started()
  const body = await smallJpeg(1)
  const path = '/v1/images/programming/48211/01'
  const { status, text } = await server.call({
    method: 'PUT',
    path,
    body,
    headers: { 'Content-Type': 'image/jpeg' },
  })
  expect(status).toBe(201)
  const sha256 = createHash('sha256').update(body).digest('hex')
  expect(page).toContain(text.replace(sha256, 'SHA256').replace(`:${body.length}}`, ':BYTES}'))
})

test('the page lists each error and each warning of the service', () => {
  const errors = Object.values(errorTable).map(({ status, code }) => `${status} ${code}`)
  expect(listed('## Errors')).toEqual(errors)
  const sentences = warningCodes.map((code) =>
    warningText({ code, count: null, detail: '' }).replace(/: $/, ''),
  )
  expect(listed('### Warnings').toSorted()).toEqual(sentences.toSorted())
})
