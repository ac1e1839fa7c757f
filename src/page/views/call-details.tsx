/** One call of the flight recorder, or one stored cycle, with everything that is known of it. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import type { Counts } from '../../contract/index.js'
import type { Call, StoredResponse } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { bytes, clockSeconds, cycleLabel, day, integer, milliseconds, percent, words } from '../format.js'
import { colorOf, Facts, Missing, Text } from '../parts/common.js'
import { Icon } from '../parts/icon.js'

const stages = ['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit', 'send']

/** The colours of the charts, by stage. */
export function stageColors(stage: string): number {
  return (stages.indexOf(stage) % 8) + 1
}

interface DetailsProps {
  readonly label: string
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

function Details({ label, title, onClose, children }: DetailsProps) {
  // Before the next key: an effect after painting would come too late.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') onClose()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [onClose])
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
    <Details label="Details of the call" {...{ title, onClose }}>
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
    <Details label="Details of the stored cycle" title={`Cycle ${cycleLabel(cycleId)}`} {...{ onClose }}>
      {data === null ? (
        <Missing error={error} what="response" />
      ) : (
        <>
          <Facts
            facts={[
              ['Arrived', `${day(data.received_at)} ${clockSeconds(data.received_at)}`],
              ['Scored', `${day(data.scored_at)} ${clockSeconds(data.scored_at)}`],
              ['Model', <Text key="model">{data.model_version}</Text>],
              ['Weights', <Text key="weights">{data.weights_version}</Text>],
              ['Missing features', percent(data.missing_feature_share)],
            ]}
          />
          <p class="muted">
            Stages are known only for cycles since the start of the service: those are under Calls. The log of
            the service has the others.
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
  /** Of the results that are not scored. */
  readonly reasons?: StoredResponse['reasons']
}

function Rows({ counts, reasons = [] }: RowsProps) {
  const found = reasons.filter(({ count }) => count > 0)
  return (
    <section>
      <h3>Rows</h3>
      <Facts
        facts={[
          ...Object.entries(counts).map(([name, count]) => [words(name), integer(count as number)] as const),
          ...found.map(({ reason, count }) => [`· ${words(reason)}`, integer(count)] as const),
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

function factsOf(call: Call): (readonly [string, string])[] {
  const known: (readonly [string, string | null])[] = [
    ['Arrived', `${day(call.at)} ${clockSeconds(call.at)}`],
    ['Operation', call.operation ?? `${call.method} ${call.path}`],
    ['Result', `${call.result}${call.is_late ? ', late' : ''}`],
    ['Status', call.status === 0 ? 'the client disconnected' : String(call.status)],
    ['Took', milliseconds(call.ms)],
    ['Model', call.model_version],
    ['Weights', call.weights_version],
    ['Request', bytes(call.bytes_in)],
    ['Response', bytes(call.bytes_out)],
    ['Trace', call.trace_id],
  ]
  return known.filter((fact): fact is readonly [string, string] => fact[1] !== null)
}

function Stages({ call: { stages_ms } }: { readonly call: Call }) {
  const entries = Object.entries(stages_ms)
  if (entries.length === 0) return null
  const longest = Math.max(...entries.map(([, ms]) => ms), 1e-9)
  return (
    <table class="stages">
      <caption>Stages</caption>
      <tbody>
        {entries.map(([name, ms]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="stage-bar">
              <span style={{ width: `${(100 * ms) / longest}%`, background: colorOf(stageColors(name)) }} />
            </td>
            <td class="number">{milliseconds(ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function Downloads({ cycleId }: { readonly cycleId: string }) {
  const address = `/api/cycles/${encodeURIComponent(cycleId)}`
  return (
    <p class="downloads">
      <a class="button" href={`${address}/request`} download>
        <Icon name="download" /> Request <span class="sr-only">of {cycleLabel(cycleId)}</span>
      </a>
      <a class="button" href={`${address}/response`} download>
        <Icon name="download" /> Response <span class="sr-only">of {cycleLabel(cycleId)}</span>
      </a>
    </p>
  )
}
