/**
 * Reports on models as a person reads them.
 */
import type { LeftOut } from '../../history/index.js'
import type { VerificationReport } from '../../model/index.js'
import { padCells, wrapCells } from '../text-table.js'

/** Where there is no terminal. */
const cellsDefault = 110
const stateCells = 6
const checkCellsMin = 13

/**
 * One line a check, long sentences over several, and a last line that says what follows: of a package that does not
 * pass, `verdict` does, as the failure of the command.
 */
export function verificationText(report: VerificationReport, columns: number | undefined): string {
  const checkCells = Math.max(checkCellsMin, ...report.checks.map(({ check }) => check.length + 2))
  const sentenceCells = Math.max((columns ?? cellsDefault) - stateCells - checkCells, 30)
  const lines = report.checks.flatMap(({ check, state, sentence }) =>
    wrapCells(sentence, sentenceCells).map((piece, number) =>
      `${padCells(number === 0 ? state.toUpperCase() : '', stateCells)}${padCells(number === 0 ? check : '', checkCells)}${piece}`.trimEnd(),
    ),
  )
  return `${lines.join('\n')}\n\n${report.passed ? `${verdict(report)}\n` : ''}`
}

/** How many checks have failed, as a sentence. */
export function verdict({ version, kind, passed, provider, checks }: VerificationReport): string {
  if (passed) {
    const test = kind === 'transport-test' ? ', and is a transport test: its scores mean nothing' : ''
    return `${version} is sound, served by ${provider ?? 'none'}${test}.`
  }
  const failed = checks.filter(({ state }) => state === 'fail').map(({ check }) => check)
  return `${version} does not pass: ${failed.join(', ')} failed.`
}

/** One line of a replay. */
export function leftOutText({ what, gallId, postNo, problem }: LeftOut): string {
  const whose = what === 'text' ? 'the text' : 'an image'
  return `${whose} of ${gallId}/${postNo} ends the ${what} encoder even alone, and counts as missing: ${problem}\n`
}
