/**
 * The report of a verification: one line per check.
 */
import { messageOf } from '../../base/index.js'
import type { CheckLine } from '../../contract/index.js'

export type { CheckLine, VerificationReport } from '../../contract/index.js'

/** What a check has found. */
export type Outcome = Omit<CheckLine, 'check'>

/** A check by its name in the report. When it throws, it has failed. */
export type Check = readonly [name: string, run: () => Outcome | Promise<Outcome>]

export function pass(sentence: string): Outcome {
  return { state: 'pass', sentence }
}

/** Nothing is wrong for certain: the package may serve. */
export function warn(sentence: string): Outcome {
  return { state: 'warn', sentence }
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
  const message = messageOf(error)
  return message.trim().replace(/\s*\n\s*/g, '; ') || 'failed without a message'
}

/** `1 row`, `5000 rows`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
