/**
 * When and how long to wait before the next attempt. Every operation of the contract is idempotent, so an attempt may be
 * repeated whatever the outcome of the previous one: the service responds with the stored result.
 */
import { codeOf } from '../base/errors.js'
import { ResponseError } from './errors.js'

export interface RetryPolicy {
  /** No attempt begins later than this after the first one. */
  readonly retryTimeoutMs: number
  /** Time of one attempt, from its start to the last byte of the response. */
  readonly attemptTimeoutMs: number
  /** Upper bound of the wait after the first attempt; it doubles with each attempt. */
  readonly backoffMsFirst: number
  readonly backoffMsMax: number
}

/** A cycle is due every five minutes: the client should know before that whether the last one arrived. */
export const defaultPolicy: RetryPolicy = {
  retryTimeoutMs: 240_000,
  attemptTimeoutMs: 60_000,
  backoffMsFirst: 200,
  backoffMsMax: 10_000,
}

/**
 * 503: no model, storage refuses writes, overload or shutdown. 502 and 504: a proxy does not reach the service. 429 and 408:
 * the limits of a proxy. A 500 is a bug in the service, and the same bytes would trigger it again.
 */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])

/** A timer cannot wait longer. */
export const timerMsMax = 2 ** 31 - 1

/** Failures that a retry cannot fix: a wrong host name or certificate, a server that does not use HTTP. */
const permanentCodes =
  /^(ENOTFOUND|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|HPE_(?!INVALID_EOF_STATE))/

export function isTemporaryStatus(status: number): boolean {
  return temporaryStatuses.has(status)
}

/**
 * Whether an attempt that failed without a complete response may succeed later. Browsers do not report why one failed. After
 * a response that is too large, the status decides.
 */
export function isTemporaryError(error: unknown): boolean {
  if (error instanceof ResponseError) return isTemporaryStatus(error.status)
  return !permanentCodes.test(codeOf(error))
}

/**
 * Milliseconds until the next attempt: exponential back-off with full jitter, so that clients that failed together do not
 * retry together. After a `Retry-After`, that time and the jitter of a first attempt, which spreads the clients that
 * received the same one. `retryCount`: attempts since the first. `random`: 0 ≤ random < 1.
 */
export function waitMsOf(
  policy: RetryPolicy,
  retryCount: number,
  retryAfter: string | null,
  random: number,
  nowMs = Date.now(),
): number {
  const { backoffMsFirst, backoffMsMax } = policy
  const askedMs = retryAfterMs(retryAfter, nowMs)
  if (askedMs !== null) return Math.min(timerMsMax, askedMs + random * Math.min(backoffMsFirst, backoffMsMax))
  return random * Math.min(backoffMsMax, backoffMsFirst * 2 ** Math.min(retryCount, 30))
}

/** Each form of date in HTTP has one. `Date.parse` takes other texts, such as 1.5, for days. */
const timeOfDay = /\d\d:\d\d:\d\d/

/** The value of `Retry-After`, seconds or a date (RFC 9110, 10.2.3), in milliseconds from now; null if it is neither. */
function retryAfterMs(value: string | null, nowMs: number): number | null {
  if (value === null) return null
  const isSeconds = /^\d+$/.test(value)
  if (!isSeconds && !timeOfDay.test(value)) return null
  const ms = isSeconds ? Number(value) * 1000 : Date.parse(value) - nowMs
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, ms), timerMsMax)
}

/** Resolves after `ms`, and rejects with the reason of `signal` when that comes first. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted === true) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
