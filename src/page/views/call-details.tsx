/** One call of the flight recorder, or one stored cycle, with everything that is known of it. */
import type { ComponentChildren } from 'preact'
import type { Counts } from '../../contract/index.js'
import type { Call, StoredResponse } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { bytes, cycleLabel, daySeconds, integer, milliseconds, percent, humanize } from '../format.js'
import { Bar, Facts, Missing, Swatch, Text, type BarPart, type Fact } from '../parts/common.js'
import { Icon } from '../parts/icon.js'
import { useKeys } from '../parts/keys.js'

/** In the order of a cycle. */
export const stages = ['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit', 'send']

/** The stages of a call, in the colours of the charts. */
export function stageParts(stagesMs: Call['stages_ms']): BarPart[] {
  return Object.entries(stagesMs).map(([name, value]) => ({
    name,
    value,
    color: (stages.indexOf(name) % 8) + 1,
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
          <span class="sr-only">Close the details</span>
        </button>
      </div>
      {children}
    </aside>
  )
}

export function CallDetails({ call, onClose }: { readonly call: Call; readonly onClose: () => void }) {
  const { cycle_id, problem, warnings, counts } = call
  const title = cycle_id === null ? call.path : `Cycle ${cycleLabel(cycle_id)}`
  return (
    <Details label="Details of the call" title={title} onClose={onClose}>
      {problem !== null && (
        <p class="notice warn">
          <strong>{call.code ?? call.status}</strong> <Text>{problem}</Text>
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
    <Details label="Details of the stored cycle" title={`Cycle ${cycleLabel(cycleId)}`} onClose={onClose}>
      {data === null ? (
        <Missing error={error} what="response" />
      ) : (
        <>
          <Facts
            facts={[
              ['Arrived', daySeconds(data.received_at)],
              ['Scored', daySeconds(data.scored_at)],
              ['Model', <Text key="model">{data.model_version}</Text>],
              ['Weights', <Text key="weights">{data.weights_version}</Text>],
              ['Missing features', percent(data.missing_feature_share)],
            ]}
          />
          <p class="muted">
            Stages are known only for cycles since the service started: those are under Calls. The log of the
            service has the others.
          </p>
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
  const rows = Object.entries(counts).map(([name, count]): Fact => [humanize(name), integer(count as number)])
  return (
    <section>
      <h3>Rows</h3>
      <Facts
        facts={[
          ...rows,
          ...reasons.map(({ reason, count }): Fact => [
            `· ${humanize(reason)}`,
            count > 0 ? integer(count) : null,
          ]),
        ]}
      />
    </section>
  )
}

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  if (warnings.length === 0) return null
  return (
    <section>
      <h3>Warnings</h3>
      <ul class="warnings">
        {warnings.map((warning, i) => (
          <li key={i}>
            <Text>{warning}</Text>
          </li>
        ))}
      </ul>
    </section>
  )
}

function factsOf(call: Call): readonly Fact[] {
  return [
    ['Arrived', daySeconds(call.at)],
    ['Operation', call.operation ?? `${call.method} ${call.path}`],
    ['Result', `${call.result}${call.is_late ? ', late' : ''}`],
    ['Status', call.status === 0 ? 'the client disconnected' : call.status],
    ['Took', milliseconds(call.ms)],
    ['Model', call.model_version],
    ['Weights', call.weights_version],
    ['Request', bytes(call.bytes_in)],
    ['Response', bytes(call.bytes_out)],
    ['Trace', call.trace_id],
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
      <h3>Stages</h3>
      <Bar parts={parts} />
      <Facts facts={parts.map(fact)} />
    </section>
  )
}

export function Downloads({ cycleId }: { readonly cycleId: string }) {
  const address = `/api/cycles/${encodeURIComponent(cycleId)}`
  return (
    <p class="downloads">
      {['Request', 'Response'].map((part) => (
        <a key={part} class="button" href={`${address}/${part.toLowerCase()}`} download>
          <Icon name="download" /> {part} <span class="sr-only">of {cycleLabel(cycleId)}</span>
        </a>
      ))}
    </p>
  )
}
