/**
 * Requests to the admin listener. `src/contract/admin-api.ts` has the types of its responses.
 */
import type { AdminErrorRecord } from '../../contract/index.js'
import { sentenceOf } from '../../contract/sentences.js'
import { t } from '../messages/index.js'

export type {
  AdminEvents,
  CallRecord as Call,
  Check,
  CyclePoint,
  ImageFacts,
  LeftPost,
  LeftPosts,
  ListedCycle,
  ListPage,
  ModelFacts,
  Models,
  ModelUse,
  Now,
  Picks,
  PostDetails as Post,
  PostFacts,
  RankedPost as Pick,
  Save,
  Series,
  StoredPage,
  StoredResponse,
  TimelineEntry,
} from '../../contract/index.js'

/** A response that is not 200. `status` 0: no response arrived. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }

  /** The same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

export function apiErrorOf(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown))
}

/** Covers a whole response. The service itself waits up to 20 s for a command before it responds that it is in progress. */
export const queryTimeoutMs = 25_000
/** Delay before the page requests again what the service still computes. */
const inProgressMs = 1000

/** Rejects with an `ApiError`, or with an `AbortError` after an abort. Waits for what takes the service long. */
export async function getJson<T>(path: string, signal: AbortSignal): Promise<T> {
  const timeout = AbortSignal.timeout(queryTimeoutMs)
  try {
    const response = await fetch(path, {
      headers: { Accept: 'application/json' },
      cache: 'no-store',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (!response.ok) throw new ApiError(response.status, await messageOf(response))
    const json = (await response.json()) as T
    if (response.status !== 202) return json
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ApiError) throw error
    const { silent, silentWithin } = t.errors
    throw new ApiError(0, timeout.aborted ? silentWithin(String(queryTimeoutMs / 1000)) : silent)
  }
  await new Promise((resolve) => setTimeout(resolve, inProgressMs))
  signal.throwIfAborted()
  return getJson(path, signal)
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as AdminErrorRecord
    return error.reason === undefined ? error.message : sentenceOf(error.reason, t.refusals)
  } catch {
    return t.errors.status(response.status)
  }
}

export function postPath(gallId: string, postNo: number): string {
  return `/api/posts/${encodeURIComponent(gallId)}/${postNo}`
}
