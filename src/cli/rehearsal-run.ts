/**
 * A rehearsal as a command runs it: with progress on the display, its end in words, its failures told apart.
 */
import {
  Breach,
  OptionError,
  rehearse,
  RehearsalError,
  settleSimulation,
  type RehearsalOptions,
  type RehearsalReport,
  type RehearsalTotals,
  type SimulationOptions,
} from '../rehearsal/index.js'
import { CommandError, UsageError } from './failure.js'
import { grouped, kstTime, ProgressDisplay, span, type DisplayTarget } from './progress-display.js'
import { fitCells, formatTable } from './text-table.js'

/** Cells of a title in the table of the best posts, where no terminal says how many fit. */
const titleCellsMax = 60
const refreshEveryMs = 1000
/** What OpenSSL says of a certificate that it does not trust, and whose certificate would change that. */
const trustedBy = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', '<cert.pem>'],
  ['SELF_SIGNED_CERT_IN_CHAIN', "<the authority's cert.pem>"],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', "<the authority's cert.pem>"],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', "<the authority's cert.pem>"],
])

export interface FinishedRehearsal {
  readonly report: RehearsalReport
  /** The last cycle that was sent. */
  readonly lastCycleId: string
}

/** Throws what `runRehearsal` would end in for options that break a rule, before there is a service to run it against. */
export function checkSimulation(options: SimulationOptions): void {
  try {
    settleSimulation(options)
  } catch (cause) {
    throw inWords(cause, options)
  }
}

/** Runs a rehearsal to its end. A breach and whatever kept it from being held end in a `CommandError`. */
export async function runRehearsal(
  options: RehearsalOptions,
  target: DisplayTarget,
): Promise<FinishedRehearsal> {
  const display = new ProgressDisplay(target)
  const refreshing = setInterval(() => display.refresh(), refreshEveryMs)
  let lastCycleId = ''
  try {
    const report = await rehearse({
      ...options,
      onProgress: (progress) => {
        lastCycleId = progress.cycleId
        display.update(progress)
      },
      onSearch: () => display.remark('looking for free cycles…'),
      onAway: (absence) => display.away(absence),
    })
    return { report, lastCycleId }
  } catch (cause) {
    throw inWords(cause, options)
  } finally {
    clearInterval(refreshing)
    display.finish()
  }
}

/** The failure as the person at the terminal knows it: options by their flags. */
function inWords(cause: unknown, { expectAlone }: SimulationOptions): unknown {
  if (cause instanceof Breach) {
    return new CommandError(`the service broke the contract: ${cause.message}`, { cause })
  }
  if (cause instanceof OptionError) return new UsageError(`${flagOf(cause.option)} ${cause.problem}`)
  if (!(cause instanceof RehearsalError)) return cause
  return new CommandError(cause.message + remedyOf(cause, expectAlone === true), { cause })
}

function remedyOf({ kind, cause }: RehearsalError, isAlone: boolean): string {
  if (kind === 'occupied' && !isAlone) return '; give a beginning with --start-at'
  const file = cause instanceof Error && 'code' in cause ? trustedBy.get(String(cause.code)) : undefined
  return file === undefined ? '' : `; NODE_EXTRA_CA_CERTS=${file} in the environment makes it trusted`
}

function flagOf(option: string): string {
  if (option === 'apiKey') return 'the API key'
  // A flag needs no unit in its name: its help tells it.
  return `--${option.replace(/S$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** What a rehearsal went through, and the best posts of its last cycle, for a terminal of `columns` cells. */
export function describeReport(report: RehearsalReport, columns?: number): string {
  const { totals, postMs } = report
  const hours = (report.endAtMs - report.startAtMs) / 3_600_000
  const lines = [
    `${kstTime(report.startAtMs)} to ${kstTime(report.endAtMs)} KST: ${Number(hours.toFixed(2))} h in ` +
      `${(report.wallMs / 1000).toFixed(1)} s${report.resumed ? ', an earlier rehearsal gone through again' : ''}`,
    `${grouped(totals.cycles)} cycles, ${grouped(totals.candidates)} posts, ${grouped(totals.scored)} scores; ` +
      `model ${report.modelVersion}, weights ${report.weightsVersion}`,
    imagesInWords(totals),
    ...faultsInWords(totals),
    `POST /v1/cycles: median ${span(postMs.p50)}, p90 ${span(postMs.p90)}, p99 ${span(postMs.p99)}, ` +
      `longest ${span(postMs.max)}`,
    'No answer broke the contract.',
  ]
  return `${lines.join('\n')}\n\n${topTable(report, columns)}`
}

function imagesInWords({ imagesCreated, imagesRepeated }: RehearsalTotals): string {
  const again = imagesRepeated === 0 ? '' : `, ${grouped(imagesRepeated)} of them stored before`
  return `${grouped(imagesCreated + imagesRepeated)} images uploaded${again}`
}

function faultsInWords({ mishaps, restarts, answersReread, retries }: RehearsalTotals): string[] {
  const faults = mishaps + restarts
  const kinds = faults === 0 ? '' : ' (lost answers, broken connections, twin calls, client restarts)'
  return [
    `${grouped(faults)} faults injected${kinds}`,
    `${grouped(answersReread)} stored answers read again, all unchanged`,
    ...(retries === 0 ? [] : [`${grouped(retries)} retries, since the service was away`]),
  ]
}

function topTable({ top, modelVersion }: RehearsalReport, columns: number | undefined): string {
  if (top.length === 0) return 'No post had a score in the last cycle.\n'
  const rows = top.map(({ gallery, post_no, title, score }, index) => [
    String(index + 1),
    score.toFixed(4),
    fitCells(gallery, titleCellsMax),
    String(post_no),
    fitCells(title, columns ?? titleCellsMax),
  ])
  // Health and answers name a model and not its kind; packages of this kind carry it in their names.
  const warning = modelVersion.startsWith('transport-test')
    ? `${modelVersion}: pseudo-random weights, this order means nothing\n`
    : ''
  const table = formatTable(['', 'score', 'gallery', 'post', 'title'], rows, {
    cellsMax: columns,
    column: 4,
    how: 'clip',
  })
  return `The best posts of the last cycle, by score\n${warning}\n${table}`
}
