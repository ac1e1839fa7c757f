/** One call of the flight recorder with everything that is known of it. */
import { useEffect } from 'preact/hooks'
import type { Call } from '../service/api.js'
import { bytes, clockSeconds, cycleLabel, day, integer, milliseconds, words } from '../format.js'
import { colorOf, Facts, Text } from '../parts/common.js'
import { Icon } from '../parts/icon.js'

const stages = ['receive', 'decode', 'wait', 'plan', 'features', 'infer', 'encode', 'commit', 'send']

/** The colours of the charts, by stage. */
export function stageColors(stage: string): number {
  return (stages.indexOf(stage) % 8) + 1
}

export function CallDetails({ call, onClose }: { readonly call: Call; readonly onClose: () => void }) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') onClose()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [onClose])
  const { cycle_id, problem, warnings, counts } = call
  return (
    <aside class="aside panel details" aria-label="Details of the call">
      <div class="details-head">
        <h2>
          <Text>{cycle_id === null ? call.path : `Cycle ${cycleLabel(cycle_id)}`}</Text>
        </h2>
        <button class="button quiet" type="button" onClick={onClose}>
          <Icon name="close" />
          <span class="sr-only">Close the details</span>
        </button>
      </div>
      {problem !== null && (
        <p class="notice warn">
          <strong>{call.code ?? call.status}</strong> <Text>{problem}</Text>
        </p>
      )}
      <Facts facts={factsOf(call)} />
      <Stages call={call} />
      {counts !== null && (
        <section>
          <h3>Rows</h3>
          <Facts
            facts={Object.entries(counts).map(
              ([name, count]) => [words(name), integer(count as number)] as const,
            )}
          />
        </section>
      )}
      {warnings.length > 0 && (
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
      )}
      {cycle_id !== null && (call.result === 'scored' || call.result === 'repeated') && (
        <Downloads cycleId={cycle_id} />
      )}
    </aside>
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
