/**
 * The report of a verification: one line per check.
 */
import type { Manifest } from '../package/manifest.js'

/** warn: no problem, but something is unproven. skip: not applicable, or a check that this one needs has failed. */
export type CheckState = 'pass' | 'warn' | 'fail' | 'skip'

/** What a check has found. */
export interface Outcome {
  readonly state: CheckState
  /** A whole sentence for the model's author. */
  readonly sentence: string
}

export interface CheckLine extends Outcome {
  readonly check: string
}

/** A check by its name in the report. When it throws, it has failed. */
export type Check = readonly [name: string, run: () => Outcome | Promise<Outcome>]

export interface VerificationReport {
  readonly version: string
  /** Null if the manifest could not be read. */
  readonly kind: Manifest['kind'] | null
  /** The provider that served; null: none did. */
  readonly provider: string | null
  /** No check has failed. */
  readonly passed: boolean
  readonly checks: readonly CheckLine[]
}

export function pass(sentence: string): Outcome {
  return { state: 'pass', sentence }
}

export function fail(sentence: string): Outcome {
  return { state: 'fail', sentence }
}

export function skip(sentence: string): Outcome {
  return { state: 'skip', sentence }
}

export async function lineOf([check, run]: Check): Promise<CheckLine> {
  try {
    return { check, ...(await run()) }
  } catch (error) {
    return { check, ...fail(`${sentenceOf(error)}.`) }
  }
}

export function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().replace(/\s*\n\s*/g, '; ') || 'failed without a message'
}

/** `1 row`, `5000 rows`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
