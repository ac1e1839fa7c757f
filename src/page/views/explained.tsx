/** The stored past of one post: its visits, the scores of a visit, and what moves the last score. */
import { useMemo } from 'preact/hooks'
import type { CycleSummary, ExplainedInput, Explanation, VisitSummary } from '../../contract/index.js'
import { counted, cycleLabel, dayClock, formatSigned, integer, percent, rank, score } from '../format.js'
import { t, word } from '../messages/index.js'
import { Badge, colorOf, Panel, Text, type Tone } from '../parts/common.js'
import { Sparkline } from '../parts/sparkline.js'
import { Table, type Column } from '../parts/table.js'
import { inputWords } from './input-words.js'

export const fateTones: Readonly<Record<string, Tone>> = {
  saved: 'ok',
  hidden: 'warn',
  deleted: 'fail',
  open: 'accent',
}

interface NumberedVisit extends VisitSummary {
  readonly number: number
  readonly isShown: boolean
}

const visitColumns = (): readonly Column<NumberedVisit>[] => [
  {
    title: t.post.visit,
    cell: ({ number, isShown }) => (
      <>
        {number} {isShown && <span class="muted">{t.post.shownBelow}</span>}
      </>
    ),
  },
  {
    title: t.post.entered,
    cell: ({ entered_cycle }) => (entered_cycle === null ? t.post.expiredCycle : cycleLabel(entered_cycle)),
  },
  {
    title: t.post.left,
    cell: ({ left_cycle }) => (left_cycle === null ? '–' : cycleLabel(left_cycle)),
  },
  {
    title: t.post.outcome,
    cell: ({ fate, tier }) => (
      <>
        <Badge tone={fateTones[fate] ?? 'plain'}>{word(fate)}</Badge>
        {tier !== null && <Badge tone="accent">{tier}</Badge>}
      </>
    ),
  },
  { title: t.post.decided, isWideOnly: true, cell: ({ decided_at }) => dayClock(decided_at) },
]

export function Visits({ explanation: { visits, visit } }: { readonly explanation: Explanation }) {
  return (
    <Panel title={t.post.visits}>
      <Table
        caption={t.post.visitsCaption}
        isCaptionHidden
        columns={visitColumns()}
        rows={visits.map((one, i) => ({ ...one, number: i + 1, isShown: i === visit }))}
        rowKey={({ number }) => String(number)}
      />
    </Panel>
  )
}

/** More are in the output of `understudy explain --json`. */
const cyclesShown = 48

const cycleColumns = (): readonly Column<CycleSummary>[] => [
  { title: t.post.cycle, cell: ({ cycle_id }) => cycleLabel(cycle_id) },
  { title: t.post.status, cell: ({ reason, status }) => word(reason ?? status) },
  { title: t.post.score, kind: 'number', cell: (cycle) => score(cycle.score) },
  {
    title: t.post.rank,
    kind: 'number',
    cell: (cycle) => t.units.ofCount(rank(cycle.rank), integer(cycle.scored)),
  },
  { title: t.post.model, isWideOnly: true, cell: ({ model_version }) => <Text>{model_version}</Text> },
  { title: t.post.weights, isWideOnly: true, cell: ({ weights_version }) => <Text>{weights_version}</Text> },
]

export function VisitCycles({ cycles }: { readonly cycles: readonly CycleSummary[] }) {
  const scores = useMemo(() => cycles.map((cycle) => cycle.score), [cycles])
  if (cycles.length === 0) return null
  return (
    <Panel title={t.post.scores}>
      <p class="muted">
        {counted(cycles.length, t.units.cycles)} <Sparkline values={scores} />
      </p>
      <Table
        caption={t.post.scoresCaption}
        isCaptionHidden
        isTall
        columns={cycleColumns()}
        rows={cycles.slice(-cyclesShown).reverse()}
        rowKey={({ cycle_id }) => cycle_id}
      />
    </Panel>
  )
}

/** What the value adds to the score, compared with the median, else with none. The service orders the inputs by it. */
function effectOf({ over_median, over_missing }: ExplainedInput): number | null {
  return over_median ?? over_missing
}

/** `largest`: the effect that fills half of the bar. */
function inputColumns(largest: number, gallery: string): readonly Column<ExplainedInput>[] {
  return [
    { title: t.post.input, cell: ({ name }) => <span title={name}>{inputWords(name).label}</span> },
    {
      title: t.post.value,
      kind: 'number',
      cell: ({ kind, name, missing, value }) => {
        if (missing) return t.parts.missingValue
        if (kind === 'gallery') return gallery
        return value === null ? t.post.present : inputWords(name).value(value)
      },
    },
    {
      title: t.post.median,
      kind: 'number',
      isWideOnly: true,
      cell: ({ name, median }) => (median === null ? '–' : inputWords(name).value(median)),
    },
    {
      title: t.post.percentile,
      kind: 'number',
      isWideOnly: true,
      cell: ({ percentile }) => percent(percentile, 0),
    },
    {
      title: t.post.effect,
      kind: 'effect',
      cell: (input) => <Effect effect={effectOf(input)} largest={largest} />,
    },
    {
      title: t.post.overMissing,
      kind: 'number',
      isWideOnly: true,
      cell: ({ over_missing }) => (over_missing === null ? '–' : formatSigned(over_missing, 4)),
    },
  ]
}

export function Explained({ explanation: { gall_id, explained } }: { readonly explanation: Explanation }) {
  if (explained === null) return null
  const { cycle_id, inputs, problem, weights } = explained
  const largest = Math.max(1e-9, ...inputs.map((input) => Math.abs(effectOf(input) ?? 0)))
  return (
    <Panel title={t.post.why}>
      <p class="muted">
        {t.post.whyText(
          cycleLabel(cycle_id),
          score(explained.score),
          Object.entries(weights)
            .map(([name, value]) => `${word(name)} ${String(value)}`)
            .join(', '),
        )}{' '}
        <span class="wide-only">{t.post.whyMissing}</span>
      </p>
      {problem !== null && (
        <p class="notice warn">
          <strong>{t.post.noEffects}</strong> <Text>{problem}</Text>
        </p>
      )}
      <Table
        caption={t.post.whyCaption}
        isCaptionHidden
        isTall
        columns={inputColumns(largest, gall_id)}
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
