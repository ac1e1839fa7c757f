/** The stored past of one post: its visits, the scores of a visit, and what moves the last score. */
import { useMemo } from 'preact/hooks'
import type { ExplainedInput, Explanation, Visit, VisitCycle } from '../service/history.js'
import { cycleLabel, dayClock, integer, percent, score, words } from '../format.js'
import { Badge, Panel, type Tone } from '../parts/common.js'
import { Sparkline } from '../parts/sparkline.js'

const tones: Readonly<Record<string, Tone>> = { saved: 'ok', hidden: 'warn', deleted: 'fail', open: 'accent' }

export function Visits({ explanation: { visits, visit } }: { readonly explanation: Explanation }) {
  return (
    <Panel title="Visits">
      <div class="wide-scroll" role="region" aria-label="Visits, table" tabIndex={0}>
        <table>
          <caption class="sr-only">Stays of the post in the pool, oldest first</caption>
          <thead>
            <tr>
              <th scope="col">Visit</th>
              <th scope="col">Entered with</th>
              <th scope="col">Left with</th>
              <th scope="col">Outcome</th>
              <th scope="col">Decided</th>
            </tr>
          </thead>
          <tbody>
            {visits.map((one, i) => (
              <VisitRow key={i} visit={one} number={i + 1} isShown={i === visit} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

interface VisitRowProps {
  readonly visit: Visit
  readonly number: number
  readonly isShown: boolean
}

function VisitRow({ visit, number, isShown }: VisitRowProps) {
  const { entered_cycle, left_cycle, fate, tier, decided_at } = visit
  return (
    <tr>
      <th scope="row">
        {number} {isShown && <span class="muted">shown below</span>}
      </th>
      <td>{entered_cycle === null ? 'an expired cycle' : cycleLabel(entered_cycle)}</td>
      <td>{left_cycle === null ? '–' : cycleLabel(left_cycle)}</td>
      <td>
        <Badge tone={tones[fate] ?? 'plain'}>{fate === 'open' ? 'pending' : words(fate)}</Badge>
        {tier !== null && <Badge tone="accent">{tier}</Badge>}
      </td>
      <td>{dayClock(decided_at)}</td>
    </tr>
  )
}

/** More are in the output of `understudy explain --json`. */
const cyclesShown = 48

export function VisitCycles({ cycles }: { readonly cycles: readonly VisitCycle[] }) {
  const scores = useMemo(() => cycles.map((cycle) => cycle.score), [cycles])
  if (cycles.length === 0) return null
  const shown = cycles.slice(-cyclesShown).reverse()
  return (
    <Panel title="Scores of the visit">
      <p class="muted">
        {integer(cycles.length)} cycles <Sparkline values={scores} />
      </p>
      <div class="wide-scroll tall" role="region" aria-label="Scores of the visit, table" tabIndex={0}>
        <table>
          <caption class="sr-only">Score and rank by cycle, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Cycle</th>
              <th scope="col">Status</th>
              <th scope="col" class="number">
                Score
              </th>
              <th scope="col" class="number">
                Rank
              </th>
              <th scope="col">Model</th>
              <th scope="col">Weights</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((cycle) => (
              <tr key={cycle.cycle_id}>
                <th scope="row">{cycleLabel(cycle.cycle_id)}</th>
                <td>{words(cycle.reason ?? cycle.status)}</td>
                <td class="number">{score(cycle.score)}</td>
                <td class="number">
                  {integer(cycle.rank)} <span class="muted">of {integer(cycle.scored)}</span>
                </td>
                <td>{cycle.model_version}</td>
                <td>{cycle.weights_version}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

export function Explained({ explanation: { explained } }: { readonly explanation: Explanation }) {
  if (explained === null) return null
  const { cycle_id, inputs, problem, weights } = explained
  const largest = Math.max(1e-9, ...inputs.map(({ to_median }) => Math.abs(to_median ?? 0)))
  return (
    <Panel title="Why this score">
      <p class="muted">
        Cycle {cycleLabel(cycle_id)}, score {score(explained.score)}. Weights:{' '}
        {Object.entries(weights)
          .map(([name, value]) => `${name} ${String(value)}`)
          .join(', ')}
        . A bar shows what the value adds to the score, compared with the median of the pool.
      </p>
      {problem !== null && (
        <p class="notice warn">
          <strong>What moves the score is not known:</strong> {problem}
        </p>
      )}
      <div class="wide-scroll tall" role="region" aria-label="Inputs, table" tabIndex={0}>
        <table>
          <caption class="sr-only">Inputs of the model, largest effect first</caption>
          <thead>
            <tr>
              <th scope="col">Input</th>
              <th scope="col" class="number">
                Value
              </th>
              <th scope="col" class="number">
                Median
              </th>
              <th scope="col" class="number">
                Percentile
              </th>
              <th scope="col">Effect</th>
            </tr>
          </thead>
          <tbody>
            {inputs.map((input) => (
              <InputRow key={input.name} input={input} largest={largest} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function InputRow({ input, largest }: { readonly input: ExplainedInput; readonly largest: number }) {
  const { name, value, missing, percentile, median, to_median } = input
  // The score with the median instead of the value is lower by what the value adds.
  const effect = to_median === null ? null : -to_median
  const width = effect === null ? 0 : (50 * Math.abs(effect)) / largest
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
      </th>
      <td class="number">{missing ? 'missing' : value === null ? 'present' : number(value)}</td>
      <td class="number">{median === null ? '–' : number(median)}</td>
      <td class="number">{percent(percentile, 0)}</td>
      <td class="effect">
        <span class="effect-bar" aria-hidden="true">
          <span
            class={effect !== null && effect < 0 ? 'minus' : 'plus'}
            style={{ width: `${width}%`, left: `${effect !== null && effect < 0 ? 50 - width : 50}%` }}
          />
        </span>
        {effect === null ? '–' : `${effect > 0 ? '+' : ''}${effect.toFixed(4)}`}
      </td>
    </tr>
  )
}

function number(value: number): string {
  return Number.isInteger(value) ? integer(value) : value.toPrecision(3)
}
