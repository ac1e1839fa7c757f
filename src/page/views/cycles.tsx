/** Cycles: the newest calls as a flight recorder, and the stored cycles; each with its request and response to download. */
import { useCallback, useMemo, useState } from 'preact/hooks'
import type { Call } from '../service/api.js'
import { clockSeconds, counted, cycleLabel, day, integer, milliseconds } from '../format.js'
import { useMedia } from '../parts/clock.js'
import { Badge, Bar, Missing, type Tone } from '../parts/common.js'
import { Cell, VirtualTable } from '../parts/virtual-table.js'
import { CallDetails, stageColors } from './call-details.js'
import { StoredCycles } from './stored-cycles.js'
import { useCalls } from './recorded-calls.js'

type ViewName = 'calls' | 'other' | 'stored'

const views: readonly (readonly [ViewName, string])[] = [
  ['calls', 'Calls'],
  ['other', 'Other refusals'],
  ['stored', 'Stored'],
]

const filters: readonly { readonly name: string; readonly matches: (call: Call) => boolean }[] = [
  { name: 'all', matches: () => true },
  { name: 'scored', matches: ({ result }) => result === 'scored' },
  { name: 'late', matches: ({ is_late }) => is_late },
  { name: 'warned', matches: ({ warnings }) => warnings.length > 0 },
  { name: 'repeated', matches: ({ result }) => result === 'repeated' },
  { name: 'refused', matches: ({ result }) => result === 'refused' },
  { name: 'failed', matches: ({ result }) => result === 'failed' || result === 'aborted' },
]

const columns = [
  { name: 'at', title: 'Time' },
  { name: 'subject', title: 'Cycle' },
  { name: 'result', title: 'Result' },
  { name: 'took', title: 'Took' },
  { name: 'stages', title: 'Stages' },
  { name: 'scored', title: 'Scored' },
  { name: 'waiting', title: 'Waiting' },
  { name: 'unscored', title: 'Not scored' },
  { name: 'model', title: 'Model' },
]

export function Cycles() {
  const [viewName, setViewName] = useState<ViewName>('calls')
  const [filterName, setFilterName] = useState('all')
  const [selectedId, setSelectedId] = useState<number | null>(null)
  const { calls, otherCalls, error, readOlder } = useCalls()
  const all = viewName === 'other' ? otherCalls : calls
  const matches = filters.find(({ name }) => name === filterName)?.matches
  const shown = useMemo(() => (all ?? []).filter(matches ?? (() => true)), [all, matches])
  const selected = shown.find(({ id }) => id === selectedId) ?? null
  return (
    <div class={selected === null ? 'view fills' : 'view fills with-details'}>
      <div class="list">
        <div class="list-head">
          <h1>Cycles</h1>
          <Choice label="What is listed" options={views} value={viewName} onChange={setViewName} />
          {viewName !== 'stored' && (
            <select
              aria-label="Result"
              value={filterName}
              onChange={(event) => setFilterName(event.currentTarget.value)}
            >
              {filters.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
          {viewName !== 'stored' && <p class="muted list-note">Newest {counted(shown.length, 'call')}</p>}
        </div>
        {viewName === 'stored' ? (
          <StoredCycles />
        ) : all === null ? (
          <Missing error={error} what="calls" />
        ) : shown.length === 0 ? (
          <p class="empty">
            {all.length === 0 ? 'No call since the start of the service.' : 'No call matches.'}
          </p>
        ) : (
          <CallTable
            calls={shown}
            selectedId={selectedId}
            onSelect={setSelectedId}
            onEnd={viewName === 'calls' ? readOlder : undefined}
          />
        )}
      </div>
      {selected !== null && <CallDetails call={selected} onClose={() => setSelectedId(null)} />}
    </div>
  )
}

interface ChoiceProps<Name extends string> {
  readonly label: string
  readonly options: readonly (readonly [Name, string])[]
  readonly value: Name
  readonly onChange: (name: Name) => void
}

function Choice<Name extends string>({ label, options, value, onChange }: ChoiceProps<Name>) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([name, title]) => (
        <button key={name} type="button" aria-pressed={name === value} onClick={() => onChange(name)}>
          {title}
        </button>
      ))}
    </div>
  )
}

interface CallTableProps {
  readonly calls: readonly Call[]
  readonly selectedId: number | null
  readonly onSelect: (id: number) => void
  /** Called when the last rows come into view. */
  readonly onEnd: (() => void) | undefined
}

function CallTable({ calls, selectedId, onSelect, onEnd }: CallTableProps) {
  const isNarrow = useMedia('(max-width: 719px)')
  const onRange = useCallback(
    (_first: number, end: number) => {
      if (end >= calls.length) onEnd?.()
    },
    [calls.length, onEnd],
  )
  return (
    <VirtualTable
      kind="calls-rows"
      caption="Calls, newest first"
      columns={columns}
      count={calls.length}
      rowHeight={isNarrow ? 64 : 40}
      rowKey={(index) => calls[index]?.id ?? index}
      isSelected={(index) => calls[index]?.id === selectedId}
      row={(index) => {
        const call = calls[index]
        return call && <CallCells call={call} onSelect={onSelect} />
      }}
      onRange={onRange}
    />
  )
}

const tones: Readonly<Record<Call['result'], Tone>> = {
  scored: 'ok',
  done: 'ok',
  repeated: 'plain',
  refused: 'warn',
  failed: 'fail',
  aborted: 'fail',
}

function CallCells({ call, onSelect }: { readonly call: Call; readonly onSelect: (id: number) => void }) {
  const { id, at, result, status, is_late, warnings, problem, counts } = call
  return (
    <>
      <Cell name="at">
        <span class="muted day">{day(at).slice(5)}</span> {clockSeconds(at)}
      </Cell>
      <Cell name="subject">
        <button class="row-link" type="button" onClick={() => onSelect(id)}>
          {call.cycle_id === null ? `${call.method} ${call.path}` : cycleLabel(call.cycle_id)}
        </button>
      </Cell>
      <Cell name="result">
        <Badge tone={tones[result]}>{result}</Badge>
        {is_late && <Badge tone="warn">late</Badge>}
        {warnings.length > 0 && <Badge tone="warn">{counted(warnings.length, 'warning')}</Badge>}
        {problem !== null && (
          <span class="clip muted" title={problem}>
            {status} {problem}
          </span>
        )}
      </Cell>
      <Cell name="took">{milliseconds(call.ms)}</Cell>
      <Cell name="stages">
        <Bar
          parts={Object.entries(call.stages_ms).map(([name, value]) => ({
            name,
            value,
            color: stageColors(name),
          }))}
        />
      </Cell>
      <Cell name="scored">{integer(counts?.scored_now)}</Cell>
      <Cell name="waiting">{integer(counts?.waiting)}</Cell>
      <Cell name="unscored">{integer(counts?.not_scored)}</Cell>
      <Cell name="model">
        <span class="clip muted">{call.model_version ?? '–'}</span>
      </Cell>
    </>
  )
}
