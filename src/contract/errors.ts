/** Kinds of errors that a client can see. docs/contract.md describes them, `refusals.ts` has the reasons of each kind. */

/** HTTP status and `code` on the wire of each kind of error. A 503 shares its code with a 500. */
export const errorTable = {
  bad_request: { status: 400, code: 'bad_request' },
  unauthorized: { status: 401, code: 'unauthorized' },
  not_found: { status: 404, code: 'not_found' },
  method_not_allowed: { status: 405, code: 'method_not_allowed' },
  conflict: { status: 409, code: 'conflict' },
  too_large: { status: 413, code: 'too_large' },
  unsupported_media_type: { status: 415, code: 'unsupported_media_type' },
  unprocessable: { status: 422, code: 'unprocessable' },
  server_error: { status: 500, code: 'server_error' },
  unavailable: { status: 503, code: 'server_error' },
} as const

export type ErrorKind = keyof typeof errorTable

/**
 * The problem of a `cycle_time` that the service's clock has not reached. A 422 with no other problem is temporary: the
 * client sends the same bytes again.
 */
export const futureProblem = 'must not be in the future'

/** The most problems in `fields`; the message gives the number of the others. */
export const fieldCountMax = 100
