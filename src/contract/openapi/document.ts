/**
 * The OpenAPI 3.1 document of the contract. Operations, statuses and schemas come from the tables and types that the
 * service itself uses; `texts.ts` and `examples.ts` add words and values. `docs/openapi.json` is a copy.
 */
import { errorTable, type ErrorKind } from '../errors.js'
import { gzipBodyBytesMax, imageBytesMax, jsonBodyBytesMax } from '../limits.js'
import { commonErrors, operations, type BodyTypes, type Operation, type OperationId } from '../operations.js'
import { bodyExamples, errorExamples } from './examples.js'
import { componentSchemas } from './schemas.js'
import { apiDescription, errorTexts, operationTexts, tagTexts } from './texts.js'

type Json = Readonly<Record<string, unknown>>

/** Every error that an operation can return, by ascending status. `server_error` is 500, `unavailable` is 503. */
export function errorsOf({ needsKey, errors }: Operation): ErrorKind[] {
  const kinds: readonly ErrorKind[] = [
    ...commonErrors,
    ...(needsKey ? ['unauthorized' as const] : []),
    ...errors,
  ]
  return kinds.toSorted((a, b) => errorTable[a].status - errorTable[b].status)
}

export function openApiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const [id, operation] of Object.entries(operations) as [OperationId, Operation][]) {
    const item = (paths[operation.path] ??= {})
    item[operation.method.toLowerCase()] = operationObject(id, operation)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Understudy',
      version: '1.1.0-draft',
      summary: 'Scores pending posts every few minutes.',
      description: apiDescription,
      license: { name: 'Proprietary' },
    },
    servers: [{ url: '/', description: 'The base address that is issued together with the API key.' }],
    security: [{ ApiKey: [] }],
    tags: Object.entries(tagTexts).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { ApiKey: apiKey },
      parameters,
      headers,
      responses: errorResponses(),
      schemas: componentSchemas(),
    },
  }
}

const apiKey = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description: 'The API key is the whole value, without a scheme.',
}

const parameters = {
  ContentEncoding: {
    name: 'Content-Encoding',
    in: 'header',
    description: 'Any other encoding is 415.',
    schema: { type: 'string', enum: ['gzip', 'identity'] },
  },
  ContentSha256: {
    name: 'X-Content-SHA256',
    in: 'header',
    description: 'SHA-256 of the body. It is checked if it is present.',
    schema: schemaReference('Sha256'),
  },
  Timing: {
    name: 'timing',
    in: 'query',
    description: 'Requests `Server-Timing` in the response, as does a header `X-Timing` with any value.',
    allowEmptyValue: true,
    schema: { type: 'string' },
  },
}

const headers = {
  ContentEncoding: {
    description: 'Present if the response is compressed; `Vary: Accept-Encoding` is present then too.',
    schema: { type: 'string', const: 'gzip' },
  },
  RetryAfter: {
    description: 'Seconds until the next attempt.',
    required: true,
    schema: { type: 'string', pattern: '^\\d+$' },
  },
  RetryWhenDue: {
    description: 'Seconds until the cycle is no longer in the future, if that is its only problem.',
    schema: { type: 'string', pattern: '^\\d+$' },
  },
  ServerTiming: {
    description: 'Durations of the stages of a cycle in milliseconds, on request.',
    schema: { type: 'string' },
  },
  WwwAuthenticate: { required: true, schema: { type: 'string', const: 'ApiKey' } },
}

const pathParameters = {
  cycle_id: {
    description: 'The id of the original call. One that does not match the pattern returns 404.',
    schema: schemaReference('CycleId'),
    example: '20260302T1205',
  },
  gall_id: {
    description: 'Percent-encoded UTF-8. The length is that of the decoded text.',
    schema: schemaReference('GalleryId'),
    example: 'programming',
  },
  post_no: { description: 'Without leading zeros.', schema: schemaReference('PostNo'), example: 48211 },
  NN: {
    description:
      'Position of the image in the original body, from 1 on, with at least two digits: `01` and `001` are the same.',
    schema: { type: 'string', pattern: '^\\d{2,}$' },
    example: '01',
  },
}

function operationObject(id: OperationId, operation: Operation): Json {
  const { tag, summary, description } = operationTexts[id]
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(
    ([, name]) => name as keyof typeof pathParameters,
  )
  const others = [
    ...(operation.request === 'jpeg' ? ['ContentSha256'] : []),
    ...(operation.request !== 'jpeg' && operation.request !== null ? ['ContentEncoding'] : []),
    ...(id === 'postCycle' ? ['Timing'] : []),
  ]
  const all = [
    ...inPath.map((name) => ({ name, in: 'path', required: true, ...pathParameters[name] })),
    ...others.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ]
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(operation.needsKey ? {} : { security: [] }),
    ...(all.length === 0 ? {} : { parameters: all }),
    ...(operation.request === null ? {} : { requestBody: requestBody(operation.request) }),
    responses: responses(id, operation),
  }
}

function requestBody(type: NonNullable<Operation['request']>): Json {
  if (type !== 'jpeg')
    return {
      required: true,
      description: `At most ${jsonBodyBytesMax} bytes after decompression and ${gzipBodyBytesMax} bytes of gzip.`,
      content: jsonContent(type, bodyExamples[type]),
    }
  const schema = { type: 'string', contentMediaType: 'image/jpeg', maxLength: imageBytesMax }
  return {
    required: true,
    description: `At most ${imageBytesMax} bytes.`,
    content: { 'image/jpeg': { schema } },
  }
}

function responses(id: OperationId, operation: Operation): Json {
  const types: Readonly<Record<string, keyof BodyTypes>> = operation.responses
  const successes = Object.entries(types).map(([status, type]): [string, Json] => {
    const description = id === 'putImage' && status === '200' ? 'The bytes are already stored.' : 'Success.'
    const timing = id === 'postCycle' ? { 'Server-Timing': headerReference('ServerTiming') } : {}
    const content = jsonContent(type, bodyExamples[type])
    return [status, { description, headers: { ...encodingHeader, ...timing }, content }]
  })
  const failures = errorsOf(operation).map((kind): [string, Json] => [
    String(errorTable[kind].status),
    { $ref: `#/components/responses/${componentName(kind)}` },
  ])
  return Object.fromEntries([
    ...successes,
    ...failures,
    ['431', { $ref: '#/components/responses/HeadTooLarge' }],
  ])
}

const encodingHeader = { 'Content-Encoding': headerReference('ContentEncoding') }

function errorResponses(): Record<string, Json> {
  const used = new Set((Object.values(operations) as Operation[]).flatMap(errorsOf))
  const shown = [...used].map((kind): [string, Json] => {
    const { code } = errorTable[kind]
    const headers = {
      ...(kind === 'unauthorized' ? { 'WWW-Authenticate': headerReference('WwwAuthenticate') } : {}),
      ...(kind === 'unavailable' ? { 'Retry-After': headerReference('RetryAfter') } : {}),
      ...(kind === 'unprocessable' ? { 'Retry-After': headerReference('RetryWhenDue') } : {}),
    }
    const content = jsonContent('ErrorRecord', { error: { code, ...errorExamples[kind] } })
    return [componentName(kind), { description: errorTexts[kind], headers, content }]
  })
  const head: Json = { description: 'The head of the request is too large. The connection is closed.' }
  const all: [string, Json][] = [...shown, ['HeadTooLarge', head]]
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function headerReference(name: keyof typeof headers): Json {
  return { $ref: `#/components/headers/${name}` }
}

function jsonContent(type: keyof BodyTypes | 'ErrorRecord', example: unknown): Json {
  return { 'application/json': { schema: schemaReference(type), example } }
}

function schemaReference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` }
}

/** `bad_request` → `BadRequest`. */
function componentName(kind: ErrorKind): string {
  return kind.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}
