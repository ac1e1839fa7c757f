/**
 * The report of a verification: one line a check.
 */
import type { Manifest } from '../package/index.js'

/** warn: nothing is wrong, and something is not shown. skip: there is nothing to check, or a needed check has failed. */
export type CheckState = 'pass' | 'warn' | 'fail' | 'skip'

export interface CheckLine {
  readonly check: string
  readonly state: CheckState
  /** A whole sentence for the model's author. */
  readonly sentence: string
  /** What was measured, for programs. */
  readonly figures?: readonly object[]
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
    return fail(check, `${sentenceOf(error)}.`)
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
