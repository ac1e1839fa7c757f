/**
 * The text of `understudy explain`.
 */
import {
  explainWords,
  inputTable,
  scoreTable,
  visitTable,
  type ExplainedAgainst,
  type ExplainedCycle,
  type Explanation,
  type Weights,
} from '../../contract/index.js'
import { inputNumber, signed, tableText } from '../text/data-table.js'
import { formatTable, inOneLine } from '../text/text-table.js'

/** Cycles of the table; all are in the JSON. */
const cyclesShown = 12
const sparklineCells = 60

/** Fits a terminal of `columns` cells. */
export function explanationText(explanation: Explanation, columns?: number): string {
  const { gall_id, post_no, candidate, explained, against, outcomes } = explanation
  const heading = [`${gall_id}/${post_no}`, ...(candidate === null ? [] : [candidate.title])].join('  ')
  const sections = [
    `${inOneLine(heading)}\n`,
    `${explainWords.en.visitsCaption}:\n${tableText(visitTable(explanation, 'en'), columns)}`,
    scoresText(explanation, columns),
    explained === null
      ? 'No stored cycle of this visit scored the post.\n'
      : cycleText(explained, gall_id, columns),
    against === null || explained === null ? '' : againstText(against, explained, columns),
    outcomesText(outcomes, columns),
  ]
  return sections.filter((section) => section !== '').join('\n')
}

function scoresText(explanation: Explanation, columns: number | undefined): string {
  const { cycles } = explanation
  const scores = cycles.flatMap(({ score }) => (score === null ? [] : [score]))
  if (cycles.length === 0) return 'No stored cycle has a result for this visit.\n'
  const more = Math.max(0, cycles.length - cyclesShown)
  const table = scoreTable(explanation, cyclesShown, 'en')
  return (
    (scores.length === 0
      ? ''
      : `Score in ${scores.length} of ${cycles.length} cycles, ${Math.min(...scores).toFixed(4)} to ` +
        `${Math.max(...scores).toFixed(4)}:  ${sparkline(scores)}\n\n`) +
    `${table.caption}:\n${tableText(table, columns)}` +
    (more > 0 ? `${more} earlier cycles are in the output of --json.\n` : '')
  )
}

const bars = '▁▂▃▄▅▆▇█'

/** One character per value, or per group of values if there are many: its mean. */
export function sparkline(values: readonly number[]): string {
  const cells = Math.min(values.length, sparklineCells)
  const means = Array.from({ length: cells }, (_, cell) => {
    const from = Math.floor((cell * values.length) / cells)
    const group = values.slice(from, Math.floor(((cell + 1) * values.length) / cells))
    return group.reduce((sum, value) => sum + value, 0) / group.length
  })
  const [low, high] = [Math.min(...means), Math.max(...means)]
  const level = (value: number): number => (high > low ? (value - low) / (high - low) : 0.5)
  return means
    .map((value) => bars[Math.min(bars.length - 1, Math.floor(level(value) * bars.length))])
    .join('')
}

function cycleText(explained: ExplainedCycle, gallId: string, columns: number | undefined): string {
  const { cycle_id, score, rank, scored, model_version, weights, weights_version, problem } = explained
  const now = explained.score_now
  const head =
    `Cycle ${cycle_id}: score ${score?.toFixed(4) ?? ''}, rank ${rank ?? ''} of ${scored}; model ${model_version}, ` +
    `weights ${weights_version} (${weightsText(weights)}).\n`
  const notes = [
    problem === null ? '' : `The changes of the score cannot be computed: ${problem}.\n`,
    now === null || score === null || Math.abs(now - score) <= differenceShown
      ? ''
      : `The recorded inputs give ${now.toFixed(6)} here: another provider, or inputs that are not recorded.\n`,
  ]
  if (explained.inputs.length === 0) return head + notes.join('')
  const table = inputTable(explained.inputs, gallId, 'en')
  return `${head}${notes.join('')}\n${table.caption}:\n${tableText(table, columns)}`
}

const differenceShown = 1e-4

function weightsText(weights: Weights): string {
  return Object.entries(weights)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}

function inputText(value: number | null): string {
  return value === null ? explainWords.en.missing : inputNumber(value)
}

function change(value: number): string {
  return signed(value, 4)
}

function againstText(
  against: ExplainedAgainst,
  explained: ExplainedCycle,
  columns: number | undefined,
): string {
  const total = (explained.score ?? NaN) - (against.score ?? NaN)
  const head =
    `Since cycle ${against.cycle_id}: score ${against.score?.toFixed(4) ?? ''} → ${explained.score?.toFixed(4) ?? ''} ` +
    `(${change(total)}), rank ${against.rank ?? ''} of ${against.scored} → ${explained.rank ?? ''} of ${explained.scored}.\n`
  if (against.change === null) return `${head}The change cannot be explained: ${against.problem ?? ''}.\n`
  const { by_inputs, by_weights, by_model, inputs } = against.change
  const weights = versionChange(against.weights_version, explained.weights_version)
  const model = versionChange(against.model_version, explained.model_version)
  const rows = inputs.map(({ name, kind, from, to, change: effect }) => {
    const values = [from, to].map((value) => inputText(value))
    return [name, ...(kind === 'feature' ? values : ['', '']), change(effect)]
  })
  return (
    `${head}Inputs ${change(by_inputs)}, weights${weights} ${change(by_weights)}, model${model} ${change(by_model)}.\n` +
    (rows.length === 0
      ? ''
      : `\n${formatTable(['input that differs', 'from', 'to', 'score if only it changes'], rows, { cellsMax: columns })}`)
  )
}

function versionChange(from: string, to: string): string {
  return from === to ? '' : ` (${from} → ${to})`
}

function outcomesText(outcomes: Explanation['outcomes'], columns: number | undefined): string {
  return outcomes
    .map((outcome) => {
      const readings = (outcome['readings'] ?? []) as readonly Record<string, number | null>[]
      const { type, model_version } = (outcome['picked_by'] ?? {}) as Record<string, string | undefined>
      const by = type === 'model' ? `the model ${model_version ?? ''}` : 'an operator'
      const ends = (['hidden_at', 'deleted_at'] as const)
        .filter((name) => typeof outcome[name] === 'string')
        .map((name) => `, ${name.slice(0, -'_at'.length)} at ${String(outcome[name])}`)
      const head = `Placed on ${String(outcome['tier'])} at ${String(outcome['placed_at'])} by ${by}${ends.join('')}.\n`
      const rows = readings.map((reading) =>
        ['age_h', 'views', 'up', 'down', 'comment_cnt'].map((name) => String(reading[name] ?? '')),
      )
      return rows.length === 0
        ? head
        : head + formatTable(['hours', 'views', 'up', 'down', 'comments'], rows, { cellsMax: columns })
    })
    .join('\n')
}
