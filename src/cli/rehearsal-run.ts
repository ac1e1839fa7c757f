/**
 * A rehearsal as a command runs it: with progress on the display, its end in words, its failures told apart.
 */
import {
  Breach,
  rehearse,
  RehearsalError,
  type RehearsalOptions,
  type RehearsalReport,
  type TopPost,
} from '../rehearsal/index.js'
import { CommandError, UsageError } from './failure.js'
import { grouped, kstTime, ProgressDisplay, span, type DisplayTarget } from './progress-display.js'
import { fitCells, formatTable } from './text-table.js'

/** Cells of a title in the table of the best posts. */
const titleCellsMax = 60

export interface FinishedRehearsal {
  readonly report: RehearsalReport
  /** The last cycle that was sent. */
  readonly lastCycleId: string
}

/** Runs a rehearsal to its end. A breach and whatever kept it from being held end in a `CommandError`. */
export async function runRehearsal(
  options: RehearsalOptions,
  target: DisplayTarget,
): Promise<FinishedRehearsal> {
  const display = new ProgressDisplay(target)
  let lastCycleId = ''
  try {
    const report = await rehearse({
      ...options,
      onProgress: (progress) => {
        lastCycleId = progress.cycleId
        display.update(progress)
      },
    })
    return { report, lastCycleId }
  } catch (cause) {
    if (cause instanceof Breach) {
      throw new CommandError(`the service broke the contract: ${cause.message}`, { cause })
    }
    if (!(cause instanceof RehearsalError)) throw cause
    throw cause.kind === 'options'
      ? new UsageError(cause.message)
      : new CommandError(cause.message, { cause })
  } finally {
    display.finish()
  }
}

/** What a rehearsal went through, and the best posts of its last cycle. */
export function describeReport(report: RehearsalReport): string {
  const { totals, postMs } = report
  const hours = (report.endAtMs - report.startAtMs) / 3_600_000
  const lines = [
    `${kstTime(report.startAtMs)} to ${kstTime(report.endAtMs)} KST: ${Number(hours.toFixed(2))} h in ` +
      `${(report.wallMs / 1000).toFixed(1)} s${report.resumed ? ', an earlier rehearsal gone through again' : ''}`,
    `${grouped(totals.cycles)} cycles, ${grouped(totals.candidates)} posts, ${grouped(totals.scored)} scores, ` +
      `${grouped(totals.imagesCreated)} images; model ${report.modelVersion}, weights ${report.weightsVersion}`,
    `${grouped(totals.mishaps)} mishaps on purpose, ${grouped(totals.answersReread)} answers read again and found ` +
      `unchanged, ${grouped(totals.retries)} retries; no answer broke the contract`,
    `POST /v1/cycles: median ${span(postMs.p50)}, p90 ${span(postMs.p90)}, p99 ${span(postMs.p99)}, ` +
      `longest ${span(postMs.max)}`,
  ]
  return `${lines.join('\n')}\n\n${topTable(report.top)}`
}

function topTable(posts: readonly TopPost[]): string {
  if (posts.length === 0) return 'No post had a score in the last cycle.\n'
  const rows = posts.map(({ gall_id, post_no, title, score }, index) => [
    String(index + 1),
    score.toFixed(4),
    fitCells(gall_id, titleCellsMax),
    String(post_no),
    fitCells(title, titleCellsMax),
  ])
  return formatTable(['', 'score', 'gallery', 'post', 'title'], rows)
}
