/**
 * Compares responses of a server with docs/openapi.json: status, headers, media type and body. Also a preload of the server
 * process (`node --import`): then each response is compared before it is sent, and what differs is appended to the file
 * OPENAPI_PROBLEMS. Imports packages only, so that Node runs this file as it is.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export interface SeenResponse {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
}

type Json = Readonly<Record<string, unknown>>
interface Response {
  readonly headers?: Readonly<Record<string, Json>>
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>
}
interface Operation {
  readonly responses: Readonly<Record<string, Json>>
}

const root = new URL('../../', import.meta.url)
export const document = JSON.parse(readFileSync(new URL('docs/openapi.json', root), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, Json>>>>
}

const documentId = 'openapi.json'
const dateTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

const isUnicode = (text: string): boolean => text.isWellFormed()

/** The document contains keywords of OpenAPI, so unknown keywords are allowed. */
export function newAjv(isDateTime: (text: string) => boolean): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': isDateTime, unicode: isUnicode } })
  ajv.addSchema({ $id: documentId, components: document.components })
  return ajv
}

/** The validator of the schema that `reference`, such as `#/components/schemas/Health`, names. */
export function validatorOf(ajv: Ajv2020, reference: string): ValidateFunction {
  const validate = ajv.getSchema(`${documentId}${reference}`)
  if (validate === undefined) throw new Error(`no schema ${reference}`)
  return validate
}

const ajv = newAjv((text) => dateTime.test(text))
const templates = Object.entries(document.paths).map(([path, item]) => ({
  item,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]*')}$`),
}))
/** Statuses of requests that match no operation. */
const unmatchedStatuses = new Set([400, 401, 404, 405, 431, 503])
const errorRecord = { 'application/json': { schema: { $ref: '#/components/schemas/ErrorRecord' } } }

/** How a response differs from the document, or null. */
export function problemOf(seen: SeenResponse): string | null {
  const { method, headers } = seen
  const response = describedResponse(seen)
  if (response === null) return 'this status is not documented'
  for (const [name, reference] of Object.entries(response.headers ?? {})) {
    const header = resolved(reference) as { required?: boolean; schema: Json }
    const value = headers[name.toLowerCase()]
    if (value === undefined && header.required === true) return `${name} is missing`
    if (value !== undefined && !ajv.validate(header.schema, value))
      return `${name} is ${JSON.stringify(value)}`
  }
  if (method === 'HEAD') return null
  const { content } = response
  if (content === undefined) return null
  const type = /^[^;]*/.exec(String(headers['content-type'] ?? ''))?.[0] ?? ''
  const media = content[type]
  if (media === undefined) return `Content-Type is ${JSON.stringify(type)}`
  return problemOfBody(media.schema, seen.body, headers['content-encoding'] === 'gzip')
}

function problemOfBody(schema: Json, bytes: Uint8Array, isGzip: boolean): string | null {
  const text = Buffer.from(isGzip ? gunzipSync(bytes) : bytes).toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'the body is not JSON'
  }
  const validate = validatorOf(ajv, String(schema['$ref']))
  return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: 'body' })
}

function describedResponse({ method, path, status }: SeenResponse): Response | null {
  const [bare = ''] = path.split('?')
  const item = templates.find(({ pattern }) => pattern.test(bare))?.item
  const operation = item?.[method === 'HEAD' ? 'get' : method.toLowerCase()]
  const reference = operation?.responses[String(status)]
  if (reference !== undefined) return resolved(reference)
  return operation === undefined && unmatchedStatuses.has(status) ? { content: errorRecord } : null
}

/** The object itself, or the component that it refers to. */
function resolved(reference: Json): Json {
  const path = reference['$ref']
  if (typeof path !== 'string') return reference
  const [, , section = '', name = ''] = path.split('/')
  return document.components[section]?.[name] ?? {}
}

// ---- as a preload

interface SentResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}
interface Exchange {
  readonly method: string
  readonly path: string
  send(response: SentResponse, close: boolean): Promise<void>
}

const problemsFile = process.env['OPENAPI_PROBLEMS']
if (problemsFile !== undefined && process.argv[2] === 'serve') await watchServer(problemsFile)

async function watchServer(file: string): Promise<void> {
  const url = new URL('dist/server/exchange.js', root).href
  const { prototype } = ((await import(url)) as { Exchange: { prototype: Exchange } }).Exchange
  const send = Reflect.get(prototype, 'send')
  // The file shows that responses are compared.
  appendFileSync(file, '')
  prototype.send = function (response, close) {
    const { method, path } = this
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const { status, body } = response
    const problem = problemOf({ method, path, status, headers, body })
    if (problem !== null) appendFileSync(file, `${method} ${path}: ${status}: ${problem}\n`)
    return send.call(this, response, close)
  }
}
