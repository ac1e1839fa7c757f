/**
 * How a call fails: the service refused it (`ApiError`), something else responded (`ResponseError`), or there was no
 * response (`ConnectionError`). A call that its signal ends rejects with the signal's reason.
 */
import { codeOf } from '../base/errors.js'
import { isObject, parseJson } from '../base/json.js'
import { errorTable, futureProblem, type ErrorKind } from '../contract/errors.js'
import type { ErrorRecord, FieldProblem } from '../contract/wire.js'
import type { Call, Reply } from './calls.js'

/** A response that is not the result of the operation: a proxy's error page, a redirect, a body of another shape. */
export class ResponseError extends Error {
  override readonly name: string = 'ResponseError'
  readonly status: number

  constructor(call: Call, { status }: Pick<Reply, 'status'>, what: string) {
    super(`${call.method} ${call.path}: ${status} ${what}`)
    this.status = status
  }
}

/** The service refused the call, with an error record of the contract. */
export class ApiError extends ResponseError {
  override readonly name = 'ApiError'
  /** Distinguishes 500 (`server_error`) from 503 (`unavailable`), which have the same `code`. */
  readonly kind: ErrorKind
  readonly code: string
  /** The failing paths of a 400 or 422, the differences of a 409; otherwise empty. */
  readonly fields: readonly FieldProblem[]

  constructor(call: Call, reply: Reply, kind: ErrorKind, { error }: ErrorRecord) {
    const [first] = error.fields ?? []
    const where = first === undefined ? '' : `; ${first.path}: ${first.problem}`
    super(call, reply, `${error.code}: ${error.message}${where}`)
    this.kind = kind
    this.code = error.code
    this.fields = error.fields ?? []
  }
}

/** No response arrived. The service may have processed the call anyway. `cause` is the last failure. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'

  constructor(
    call: Call,
    readonly attemptCount: number,
    cause: unknown,
  ) {
    const attempts = attemptCount === 1 ? '1 attempt' : `${attemptCount} attempts`
    super(`${call.method} ${call.path}: no response in ${attempts}: ${reasonOf(cause)}`, { cause })
  }
}

/** No response within the time of one attempt. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * The error of a response that is not the result of the operation. Gateways send JSON too: it is an `ApiError` only if the
 * record has the shape of the contract and the code that the contract has for this status.
 */
export function errorOf(call: Call, reply: Reply): ResponseError {
  const record = jsonOf(reply)
  if (isErrorRecord(record)) {
    const kind = kindOf(reply.status, record.error.code)
    if (kind !== undefined) return new ApiError(call, reply, kind, record)
  }
  return new ResponseError(call, reply, 'is not a response of the service')
}

function kindOf(status: number, code: string): ErrorKind | undefined {
  const kinds = Object.keys(errorTable) as ErrorKind[]
  return kinds.find((kind) => errorTable[kind].status === status && errorTable[kind].code === code)
}

/**
 * Whether the service refuses a cycle only because its time is in the future. That is a difference between the clocks of
 * client and service: the service accepts the same bytes later.
 */
export function isFutureRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.kind !== 'unprocessable') return false
  const [field, ...others] = error.fields
  return others.length === 0 && field?.path === 'cycle_time' && field.problem === futureProblem
}

export function hasJsonType({ headers }: Reply): boolean {
  return /^application\/json\b/i.test(headers.get('content-type') ?? '')
}

/** The value of a JSON body; undefined if the body or its media type is another one. */
export function jsonOf(reply: Reply): unknown {
  return hasJsonType(reply) ? parseJson(reply.body) : undefined
}

/** What an error of `fetch` is about: its innermost cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return reasonOf(error.cause)
  return error.message || codeOf(error) || error.name
}

function isErrorRecord(value: unknown): value is ErrorRecord {
  if (!isObject(value) || !isObject(value['error'])) return false
  const { code, message, fields } = value['error']
  const isText = typeof code === 'string' && typeof message === 'string'
  return isText && (fields === undefined || (Array.isArray(fields) && fields.every(isFieldProblem)))
}

function isFieldProblem(value: unknown): value is FieldProblem {
  return isObject(value) && typeof value['path'] === 'string' && typeof value['problem'] === 'string'
}
