/**
 * The report of a verification: one line a check, and the figures that were measured on the way.
 */
import type { Manifest } from '../package/index.js'

/** skip: there is nothing to check, or a check that it needs has failed. */
export type CheckState = 'pass' | 'fail' | 'skip'

export interface CheckLine {
  readonly check: string
  readonly state: CheckState
  /** A whole sentence for the model's author. */
  readonly sentence: string
}

export interface LatencyFigure {
  readonly rows: number
  /** Of several runs of `predict`, with features and transport. */
  readonly medianMs: number
  readonly slowestMs: number
}

export interface VerificationFigures {
  readonly latency: readonly LatencyFigure[]
  /** Largest memory of each process of the model; empty where it cannot be read. */
  readonly memory: readonly { readonly role: string; readonly bytes: number }[]
}

export interface VerificationReport {
  readonly version: string
  /** Null where the manifest could not be read. */
  readonly kind: Manifest['kind'] | null
  /** The provider that served; null: none did. */
  readonly provider: string | null
  /** No check has failed. */
  readonly passed: boolean
  readonly checks: readonly CheckLine[]
  readonly figures: VerificationFigures
}

export function pass(check: string, sentence: string): CheckLine {
  return { check, state: 'pass', sentence }
}

export function fail(check: string, sentence: string): CheckLine {
  return { check, state: 'fail', sentence }
}

export function skip(check: string, sentence: string): CheckLine {
  return { check, state: 'skip', sentence }
}

/** The result of a check that throws where it fails. */
export async function attempt(check: string, run: () => Promise<CheckLine>): Promise<CheckLine> {
  try {
    return await run()
  } catch (error) {
    return fail(check, sentenceOf(error))
  }
}

export function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().replace(/\s*\n\s*/g, '; ') || 'failed without a message'
}

/** `1 row`, `5000 rows`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
