/**
 * How a call fails: the service refused it (`ApiError`), something else responded (`ResponseError`), or there was no
 * response (`ConnectionError`). A call that its signal ends rejects with the signal's reason.
 */
import { errorTable, type ErrorKind } from '../contract/errors.js'
import type { ErrorRecord, FieldProblem } from '../contract/wire.js'
import type { Call, Reply } from './calls.js'

/** A response that is not the result of the operation: a proxy's error page, a redirect, or a body that is not JSON. */
export class ResponseError extends Error {
  override readonly name: string = 'ResponseError'
  readonly status: number

  constructor(call: Call, { status }: Reply, what: string) {
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

/** The error of a response that is not the result of the operation. */
export function errorOf(call: Call, reply: Reply): ResponseError {
  const record = parseJson(reply.body)
  const kinds = Object.entries(errorTable) as [ErrorKind, { readonly status: number }][]
  const [kind] = kinds.find(([, { status }]) => status === reply.status) ?? []
  if (kind === undefined || !isErrorRecord(record))
    return new ResponseError(call, reply, 'is an unexpected response')
  return new ApiError(call, reply, kind, record)
}

/** The value, or undefined if the bytes are not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** What an error of `fetch` is about: its innermost cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return reasonOf(error.cause)
  return error.message !== '' ? error.message : (codeOf(error) ?? error.name)
}

/** The code of the innermost cause that has one, such as `ECONNREFUSED`. Node has codes, browsers do not. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return codeOf(error.cause) ?? ('code' in error && typeof error.code === 'string' ? error.code : undefined)
}

function isErrorRecord(value: unknown): value is ErrorRecord {
  if (!isObject(value) || !isObject(value['error'])) return false
  const { code, message, fields } = value['error']
  return (
    typeof code === 'string' && typeof message === 'string' && (fields === undefined || Array.isArray(fields))
  )
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
