/**
 * The operations of docs/contract.md, one table of pure data. Routing, the OpenAPI document and the typed client
 * derive from it. This file runs in browsers too, so it may import types only.
 */
import type { ErrorKind } from './errors.js'
import type * as wire from './wire.js'

/** The types of JSON bodies, by the name that the table uses. */
export interface BodyTypes {
  CycleRequest: wire.CycleRequest
  CycleResponse: wire.CycleResponse
  Health: wire.Health
  ImageStored: wire.ImageStored
  OutcomesRequest: wire.OutcomesRequest
  OutcomesResponse: wire.OutcomesResponse
  WeightsAck: wire.WeightsAck
  WeightsRequest: wire.WeightsRequest
  WeightsState: wire.WeightsState
}

export interface Operation {
  /** The operations of GET serve HEAD too. */
  readonly method: 'GET' | 'POST' | 'PUT'
  /** A name in braces is the name of a parameter. It takes one path segment, which may be empty. */
  readonly path: string
  readonly needsKey: boolean
  /** Level of the log line of a request that succeeds. */
  readonly logLevel: 'info' | 'debug'
  /** Type of the request body: JSON, a JPEG file, or no body. */
  readonly request: keyof BodyTypes | 'jpeg' | null
  /** Types of the responses that are not errors, by status. */
  readonly responses: Readonly<Partial<Record<200 | 201, keyof BodyTypes>>>
  /** Errors besides those of `commonErrors` and, if the operation needs a key, `unauthorized`. */
  readonly errors: readonly ErrorKind[]
}

/** Errors of every operation: an ambiguous body length, a bug of the service, a shutdown or an overload. */
export const commonErrors = [
  'bad_request',
  'server_error',
  'unavailable',
] as const satisfies readonly ErrorKind[]

export const operations = {
  postCycle: {
    method: 'POST',
    path: '/v1/cycles',
    needsKey: true,
    logLevel: 'info',
    request: 'CycleRequest',
    responses: { 200: 'CycleResponse' },
    errors: ['conflict', 'too_large', 'unsupported_media_type', 'unprocessable'],
  },
  getScores: {
    method: 'GET',
    path: '/v1/scores/{cycle_id}',
    needsKey: true,
    logLevel: 'info',
    request: null,
    responses: { 200: 'CycleResponse' },
    errors: ['not_found'],
  },
  putImage: {
    method: 'PUT',
    path: '/v1/images/{gall_id}/{post_no}/{NN}',
    needsKey: true,
    logLevel: 'info',
    request: 'jpeg',
    responses: { 200: 'ImageStored', 201: 'ImageStored' },
    errors: ['conflict', 'too_large', 'unsupported_media_type'],
  },
  getHealth: {
    method: 'GET',
    path: '/v1/health',
    needsKey: false,
    logLevel: 'debug',
    request: null,
    responses: { 200: 'Health' },
    errors: [],
  },
  postOutcomes: {
    method: 'POST',
    path: '/v1/outcomes',
    needsKey: true,
    logLevel: 'info',
    request: 'OutcomesRequest',
    responses: { 200: 'OutcomesResponse' },
    errors: ['too_large', 'unsupported_media_type', 'unprocessable'],
  },
  getWeights: {
    method: 'GET',
    path: '/v1/weights',
    needsKey: true,
    logLevel: 'info',
    request: null,
    responses: { 200: 'WeightsState' },
    errors: [],
  },
  putWeights: {
    method: 'PUT',
    path: '/v1/weights',
    needsKey: true,
    logLevel: 'info',
    request: 'WeightsRequest',
    responses: { 200: 'WeightsAck' },
    errors: ['conflict', 'too_large', 'unsupported_media_type', 'unprocessable'],
  },
} as const satisfies Readonly<Record<string, Operation>>

export type OperationId = keyof typeof operations

/** The value of the JSON body that a request of an operation has. */
export type RequestOf<Id extends OperationId> = (typeof operations)[Id]['request'] extends infer Name extends
  keyof BodyTypes
  ? BodyTypes[Name]
  : never

/** The value of the body of a response that is not an error. */
export type ResponseOf<Id extends OperationId> = (typeof operations)[Id]['responses'] extends {
  readonly 200: infer Name extends keyof BodyTypes
}
  ? BodyTypes[Name]
  : never

/** The names in braces of a path. */
export type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never

/** The path of an operation with its parameters percent-encoded. */
export function pathOf<Id extends OperationId>(
  id: Id,
  parameters: Readonly<Record<PathParameter<(typeof operations)[Id]['path']>, string | number>>,
): string {
  return operations[id].path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((parameters as Record<string, string | number>)[name] ?? ''),
  )
}
