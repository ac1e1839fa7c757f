/** One call of the flight recorder, or one stored cycle, with everything that is known of it. */
import type { ComponentChildren } from 'preact'
import type { Counts } from '../../contract/index.js'
import { stageNames } from '../../contract/page-facts.js'
import { callProblemText } from '../../contract/refusals.js'
import { sentenceOf } from '../../contract/sentences.js'
import { warningLine } from '../../contract/warnings.js'
import type { Call, StoredResponse } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { bytes, daySeconds, integer, milliseconds, percent } from '../format.js'
import { t, word } from '../messages/index.js'
import { Bar, Facts, Missing, Swatch, Text, type BarPart, type Fact } from '../parts/common.js'
import { Icon } from '../parts/icon.js'
import { useKeys } from '../parts/keys.js'

/** Ends when the response is durable, as on Now. Sending it takes as long as the client reads. */
export function tookMs({ ms, stages_ms }: Call): number {
  const stagesBeforeSend = Object.entries(stages_ms).filter(([stage]) => stage !== 'send')
  return stagesBeforeSend.length === 0 ? ms : stagesBeforeSend.reduce((sum, [, stageMs]) => sum + stageMs, 0)
}

/** Each stage has a colour of its own, here and in the charts. */
export function colorOfStage(stage: string): number {
  return stageNames.findIndex((name) => name === stage) + 1
}

export function StageLegend() {
  return (
    <ul class="legend calls-legend" aria-label={t.cycles.stages}>
      {stageNames.map((stage) => (
        <li key={stage}>
          <Swatch color={colorOfStage(stage)} /> {word(stage)}
        </li>
      ))}
    </ul>
  )
}

/** The stages of a call, in the colours of the charts. */
export function stageParts(stagesMs: Call['stages_ms']): BarPart[] {
  return Object.entries(stagesMs).map(([name, value]) => ({
    name: word(name),
    value,
    color: colorOfStage(name),
  }))
}

interface DetailsProps {
  readonly label: string
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

function Details({ label, title, onClose, children }: DetailsProps) {
  useKeys(({ key }) => {
    if (key === 'Escape') onClose()
  })
  return (
    <aside class="aside panel details" aria-label={label}>
      <div class="details-head">
        <h2>
          <Text>{title}</Text>
        </h2>
        <button class="button quiet" type="button" onClick={onClose}>
          <Icon name="close" />
          <span class="sr-only">{t.parts.closeDetails}</span>
        </button>
      </div>
      {children}
    </aside>
  )
}

export function CallDetails({ call, onClose }: { readonly call: Call; readonly onClose: () => void }) {
  const { cycle_id, problem, warnings, counts } = call
  const title = cycle_id === null ? call.path : t.cycles.cycleTitle(cycle_id)
  return (
    <Details label={t.cycles.callDetails} title={title} onClose={onClose}>
      {problem !== null && (
        <p class="notice warn">
          <strong>{call.code ?? call.status}</strong> <Text>{sentenceOf(problem.reason, t.refusals)}</Text>
          {problem.field !== null && (
            <>
              <br />
              <Text>{callProblemText(problem)}</Text>
            </>
          )}
        </p>
      )}
      <Facts facts={factsOf(call)} />
      <Stages call={call} />
      {counts !== null && <Rows counts={counts} />}
      <Warnings warnings={warnings} />
      {cycle_id !== null && (call.result === 'scored' || call.result === 'repeated') && (
        <Downloads cycleId={cycle_id} />
      )}
    </Details>
  )
}

interface StoredDetailsProps {
  readonly cycleId: string
  readonly onClose: () => void
}

export function StoredDetails({ cycleId, onClose }: StoredDetailsProps) {
  const { data, error } = useQuery<StoredResponse>(`/api/cycles/${encodeURIComponent(cycleId)}`)
  return (
    <Details label={t.cycles.storedDetails} title={t.cycles.cycleTitle(cycleId)} onClose={onClose}>
      {data === null ? (
        <Missing error={error} what={t.data.response} />
      ) : (
        <>
          <Facts
            facts={[
              [t.cycles.arrived, daySeconds(data.received_at)],
              [t.cycles.scoredAt, daySeconds(data.scored_at)],
              [t.cycles.model, <Text key="model">{data.model_version}</Text>],
              [t.cycles.weights, <Text key="weights">{data.weights_version}</Text>],
              [t.cycles.missingFeatures, percent(data.missing_feature_share)],
            ]}
          />
          <p class="muted">{t.cycles.stagesUnknown}</p>
          <Rows counts={data.counts} reasons={data.reasons} />
          <Warnings warnings={data.warnings} />
        </>
      )}
      <Downloads cycleId={cycleId} />
    </Details>
  )
}

interface RowsProps {
  readonly counts: Counts
  /** Reasons of the results that are not scored. */
  readonly reasons?: StoredResponse['reasons']
}

function Rows({ counts, reasons = [] }: RowsProps) {
  const rows = Object.entries(counts).map(([name, count]): Fact => [word(name), integer(count as number)])
  return (
    <section>
      <h3>{t.cycles.rows}</h3>
      <Facts
        facts={[
          ...rows,
          ...reasons.map(({ reason, count }): Fact => [
            `· ${word(reason)}`,
            count > 0 ? integer(count) : null,
          ]),
        ]}
      />
    </section>
  )
}

function Warnings({ warnings }: Pick<StoredResponse, 'warnings'>) {
  if (warnings.length === 0) return null
  return (
    <section>
      <h3>{t.cycles.warnings}</h3>
      <ul class="warnings">
        {warnings.map((warning, i) => (
          <li key={i}>
            <Text>{warningLine(warning, t.warningKinds)}</Text>
          </li>
        ))}
      </ul>
    </section>
  )
}

function factsOf(call: Call): readonly Fact[] {
  return [
    [t.cycles.arrived, daySeconds(call.at)],
    [t.cycles.operation, call.operation ?? `${call.method} ${call.path}`],
    [t.cycles.result, call.is_late ? t.cycles.lateResult(word(call.result)) : word(call.result)],
    [t.cycles.status, call.status === 0 ? t.cycles.disconnected : call.status],
    [t.cycles.took, milliseconds(tookMs(call))],
    [t.cycles.model, call.model_version],
    [t.cycles.weights, call.weights_version],
    [t.cycles.request, bytes(call.bytes_in)],
    [t.cycles.response, bytes(call.bytes_out)],
    [t.cycles.trace, call.trace_id],
  ]
}

function Stages({ call: { stages_ms } }: { readonly call: Call }) {
  const parts = stageParts(stages_ms)
  if (parts.length === 0) return null
  const fact = ({ name, value, color }: BarPart): Fact => [
    name,
    <>
      <Swatch color={color} /> {milliseconds(value)}
    </>,
  ]
  return (
    <section>
      <h3>{t.cycles.stages}</h3>
      <Bar parts={parts} />
      <Facts facts={parts.map(fact)} />
    </section>
  )
}

export function Downloads({ cycleId }: { readonly cycleId: string }) {
  const address = `/api/cycles/${encodeURIComponent(cycleId)}`
  return (
    <p class="downloads">
      {(['request', 'response'] as const).map((part) => (
        <a key={part} class="button" href={`${address}/${part}`} download>
          <Icon name="download" /> {t.cycles[part]} <span class="sr-only">{t.cycles.ofCycle(cycleId)}</span>
        </a>
      ))}
    </p>
  )
}
