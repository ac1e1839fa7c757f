/** The stored past of one post: its visits, the scores of a visit, and what moves the last score. */
import { useMemo } from 'preact/hooks'
import type { CycleSummary, ExplainedInput, Explanation, VisitSummary } from '../../contract/index.js'
import { cycleLabel, dayClock, integer, percent, score, formatSigned, humanize } from '../format.js'
import { Badge, colorOf, Panel, Text, type Tone } from '../parts/common.js'
import { Sparkline } from '../parts/sparkline.js'
import { Table, type Column } from '../parts/table.js'

const tones: Readonly<Record<string, Tone>> = { saved: 'ok', hidden: 'warn', deleted: 'fail', open: 'accent' }

interface NumberedVisit extends VisitSummary {
  readonly number: number
  readonly isShown: boolean
}

const visitColumns: readonly Column<NumberedVisit>[] = [
  {
    title: 'Visit',
    cell: ({ number, isShown }) => (
      <>
        {number} {isShown && <span class="muted">shown below</span>}
      </>
    ),
  },
  {
    title: 'Entered with',
    cell: ({ entered_cycle }) => (entered_cycle === null ? 'an expired cycle' : cycleLabel(entered_cycle)),
  },
  {
    title: 'Left with',
    cell: ({ left_cycle }) => (left_cycle === null ? '–' : cycleLabel(left_cycle)),
  },
  {
    title: 'Outcome',
    cell: ({ fate, tier }) => (
      <>
        <Badge tone={tones[fate] ?? 'plain'}>{fate === 'open' ? 'pending' : humanize(fate)}</Badge>
        {tier !== null && <Badge tone="accent">{tier}</Badge>}
      </>
    ),
  },
  { title: 'Decided', cell: ({ decided_at }) => dayClock(decided_at) },
]

export function Visits({ explanation: { visits, visit } }: { readonly explanation: Explanation }) {
  return (
    <Panel title="Visits">
      <Table
        caption="Stays of the post in the pool, oldest first"
        isCaptionHidden
        columns={visitColumns}
        rows={visits.map((one, i) => ({ ...one, number: i + 1, isShown: i === visit }))}
        rowKey={({ number }) => String(number)}
      />
    </Panel>
  )
}

/** More are in the output of `understudy explain --json`. */
const cyclesShown = 48

const cycleColumns: readonly Column<CycleSummary>[] = [
  { title: 'Cycle', cell: ({ cycle_id }) => cycleLabel(cycle_id) },
  { title: 'Status', cell: ({ reason, status }) => humanize(reason ?? status) },
  { title: 'Score', kind: 'number', cell: (cycle) => score(cycle.score) },
  {
    title: 'Rank',
    kind: 'number',
    cell: ({ rank, scored }) => (
      <>
        {integer(rank)} <span class="muted">of {integer(scored)}</span>
      </>
    ),
  },
  { title: 'Model', cell: ({ model_version }) => <Text>{model_version}</Text> },
  { title: 'Weights', cell: ({ weights_version }) => <Text>{weights_version}</Text> },
]

export function VisitCycles({ cycles }: { readonly cycles: readonly CycleSummary[] }) {
  const scores = useMemo(() => cycles.map((cycle) => cycle.score), [cycles])
  if (cycles.length === 0) return null
  return (
    <Panel title="Scores of the visit">
      <p class="muted">
        {integer(cycles.length)} cycles <Sparkline values={scores} />
      </p>
      <Table
        caption="Score and rank by cycle, newest first"
        isCaptionHidden
        isTall
        columns={cycleColumns}
        rows={cycles.slice(-cyclesShown).reverse()}
        rowKey={({ cycle_id }) => cycle_id}
      />
    </Panel>
  )
}

/** With the median, or without the input, the score is lower by what the value adds. */
function effectOf({ to_median, to_missing }: ExplainedInput): number | null {
  const change = to_median ?? to_missing
  return change === null ? null : -change
}

/** `largest`: the effect that fills half of the bar. */
function inputColumns(largest: number): readonly Column<ExplainedInput>[] {
  return [
    { title: 'Input', cell: ({ name }) => <code>{name}</code> },
    {
      title: 'Value',
      kind: 'number',
      cell: ({ missing, value }) => (missing ? 'missing' : value === null ? 'present' : number(value)),
    },
    { title: 'Median', kind: 'number', cell: ({ median }) => number(median) },
    { title: 'Percentile', kind: 'number', cell: ({ percentile }) => percent(percentile, 0) },
    {
      title: 'Effect',
      kind: 'effect',
      cell: (input) => <Effect effect={effectOf(input)} largest={largest} />,
    },
    {
      title: 'If missing',
      kind: 'number',
      cell: ({ to_missing }) => (to_missing === null ? '–' : formatSigned(to_missing, 4)),
    },
  ]
}

export function Explained({ explanation: { explained } }: { readonly explanation: Explanation }) {
  if (explained === null) return null
  const { cycle_id, inputs, problem, weights } = explained
  const largest = Math.max(1e-9, ...inputs.map((input) => Math.abs(effectOf(input) ?? 0)))
  return (
    <Panel title="Why this score">
      <p class="muted">
        Cycle {cycleLabel(cycle_id)}, score {score(explained.score)}. Weights:{' '}
        {Object.entries(weights)
          .map(([name, value]) => `${name} ${String(value)}`)
          .join(', ')}
        . A bar shows what the value adds to the score, compared with the median of the pool; of a text or an
        image, compared with none. The last column is the change of the score if the value were missing.
      </p>
      {problem !== null && (
        <p class="notice warn">
          <strong>The effects of the inputs cannot be computed:</strong> <Text>{problem}</Text>
        </p>
      )}
      <Table
        caption="Inputs of the model, largest effect first"
        isCaptionHidden
        isTall
        columns={inputColumns(largest)}
        rows={inputs}
        rowKey={({ name }) => name}
      />
    </Panel>
  )
}

function Effect({ effect, largest }: { readonly effect: number | null; readonly largest: number }) {
  const width = (50 * Math.abs(effect ?? 0)) / largest
  const isMinus = effect !== null && effect < 0
  return (
    <>
      <span class="effect-bar" aria-hidden="true">
        <span
          style={{
            width: `${width}%`,
            left: `${isMinus ? 50 - width : 50}%`,
            background: colorOf(isMinus ? 5 : 2),
          }}
        />
      </span>
      {effect === null ? '–' : formatSigned(effect, 4)}
    </>
  )
}

function number(value: number | null): string {
  if (value === null) return '–'
  return Number.isInteger(value) ? integer(value) : value.toPrecision(3)
}
