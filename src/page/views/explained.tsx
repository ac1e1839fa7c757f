/** The stored past of one post: its visits, the scores of a visit, and what moves the last score. */
import { useMemo } from 'preact/hooks'
import { inputTable, scoreTable, visitTable } from '../../contract/explain-tables.js'
import type { Explanation } from '../../contract/index.js'
import { counted, cycleLabel, decimal } from '../format.js'
import { language, t, word } from '../messages/index.js'
import { Panel, Text } from '../parts/common.js'
import { DataTableView } from '../parts/data-table.js'
import { Sparkline } from '../parts/sparkline.js'

/** More are in the output of `understudy explain --json`. */
const cyclesShown = 48

interface ExplanationProps {
  readonly explanation: Explanation
}

export function Visits({ explanation }: ExplanationProps) {
  return (
    <Panel title={t.explain.visits}>
      <DataTableView table={visitTable(explanation, language)} isCaptionHidden />
    </Panel>
  )
}

export function VisitCycles({ explanation }: ExplanationProps) {
  const { cycles } = explanation
  const scores = useMemo(() => cycles.map((cycle) => cycle.score), [cycles])
  if (cycles.length === 0) return null
  return (
    <Panel title={t.explain.scores}>
      <p class="muted">
        {counted(cycles.length, t.units.cycles)} <Sparkline values={scores} />
      </p>
      <DataTableView table={scoreTable(explanation, cyclesShown, language)} isCaptionHidden isTall />
    </Panel>
  )
}

export function Explained({ explanation: { gall_id, explained } }: ExplanationProps) {
  if (explained === null) return null
  const { cycle_id, inputs, problem, weights } = explained
  return (
    <Panel title={t.explain.why}>
      <p class="muted">
        {t.post.whyText(
          cycleLabel(cycle_id),
          decimal(explained.score, 4),
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
      <DataTableView table={inputTable(inputs, gall_id, language)} isCaptionHidden isTall />
    </Panel>
  )
}
