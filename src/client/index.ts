/**
 * The typed client of the service, the package `understudy-client`: for Node 18, Deno and browsers, without dependencies. The
 * spool, which needs Node, is `understudy-client/spool`.
 */
export { imageCall, jsonCall, plainCall, scoresCall, type Call, type ImageKey, type Reply } from './calls.js'
export { Client, type CallOptions, type ClientOptions, type Failure } from './client.js'
export {
  ApiError,
  ConnectionError,
  isFutureRefusal,
  reasonOf,
  ResponseError,
  TimeoutError,
} from './errors.js'
export { defaultPolicy, isTemporaryError, type RetryPolicy } from './retry.js'
export type { ErrorKind } from '../contract/errors.js'
export type * from '../contract/wire.js'
