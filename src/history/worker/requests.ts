/**
 * What the worker computes, by request. The commands `report`, `explain` and `models compare` call the same functions in
 * their own process.
 */
import { silentLog } from '../../base/index.js'
import type { Comparison, Explanation, Report, VerificationReport } from '../../contract/index.js'
import { ModelError, verifyPackage } from '../../model/index.js'
import { compareVersions, lastCycles } from '../replay/compare-versions.js'
import { evaluate } from '../evaluation/evaluate.js'
import { explainPost } from '../explain/explain-post.js'
import { HistoryError } from '../history-error.js'
import { loadOptionsOf, withHistory, type History, type HistorySettings } from '../recorded/session.js'

export type HistoryRequest =
  | { readonly kind: 'report' }
  | {
      readonly kind: 'explain'
      readonly gall_id: string
      readonly post_no: number
      /** See the options of `explainPost`. */
      readonly cycleId: string | null
      readonly againstId: string | null
    }
  | {
      readonly kind: 'compare'
      readonly versions: readonly [first: string, second: string]
      /** The newest cycles. */
      readonly cycleCount: number
    }
  | { readonly kind: 'verify'; readonly version: string }

export type HistoryResult = Report | Explanation | Comparison | VerificationReport

/** The beginning of the message of an unexpected failure. */
export const failures = {
  report: 'the report failed',
  explain: 'the post cannot be explained',
  compare: 'the comparison failed',
} as const

/** Rejects with a `HistoryError` or a `ModelError`. */
export function resultOf(settings: HistorySettings, request: HistoryRequest): Promise<HistoryResult> {
  const log = silentLog
  if (request.kind === 'verify') return verifyPackage(loadOptionsOf(settings, request.version, log))
  return withHistory(settings, log, async (history): Promise<HistoryResult> => {
    try {
      return await computed(history, request)
    } catch (error) {
      throw expectedError(error, failures[request.kind])
    }
  })
}

async function computed(
  history: History,
  request: Exclude<HistoryRequest, { readonly kind: 'verify' }>,
): Promise<Report | Explanation | Comparison> {
  const { store } = history
  switch (request.kind) {
    case 'report':
      return evaluate(store)
    case 'explain':
      return explainPost(history, request, { ...request, texts: true })
    case 'compare': {
      const { versions, cycleCount } = request
      const cycles = lastCycles(store, cycleCount)
      return compareVersions(store, { ...history, versions, cycles, onExcluded: () => undefined })
    }
  }
}

/** Any other error than a `ModelError` or a `HistoryError` as a `HistoryError` that begins with `failure`. */
export function expectedError(error: unknown, failure: string): Error {
  if (error instanceof ModelError || error instanceof HistoryError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new HistoryError({ code: 'history_failed', problem: `${failure}: ${message}` }, { cause: error })
}
