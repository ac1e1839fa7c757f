/** Cycles: the newest calls as a flight recorder, and the stored cycles; each with its request and response to download. */
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Call } from '../service/api.js'
import { useCalls, type CallList } from '../service/calls.js'
import { clockSeconds, counted, cycleLabel, day, integer, milliseconds } from '../format.js'
import { useMedia } from '../parts/clock.js'
import { Badge, Bar, Missing, Text, type Tone } from '../parts/common.js'
import { Cell, VirtualTable } from '../parts/virtual-table.js'
import { CallDetails, stageColors } from './call-details.js'
import { StoredCycles } from './stored-cycles.js'

const lists: readonly (readonly [CallList | 'stored', string])[] = [
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
  const [listName, setListName] = useState<CallList | 'stored'>('calls')
  const choice = (
    <div class="choice" role="group" aria-label="What is listed">
      {lists.map(([name, title]) => (
        <button key={name} type="button" aria-pressed={name === listName} onClick={() => setListName(name)}>
          {title}
        </button>
      ))}
    </div>
  )
  return listName === 'stored' ? (
    <StoredCycles choice={choice} />
  ) : (
    <Calls key={listName} listName={listName} choice={choice} />
  )
}

interface CallsProps {
  readonly listName: CallList
  readonly choice: ComponentChildren
}

function Calls({ listName, choice }: CallsProps) {
  const { instance, items: calls, isRead, error } = useCalls(listName)
  const [filterName, setFilterName] = useState('all')
  const [selectedKey, setSelectedKey] = useState('')
  const matches = filters.find(({ name }) => name === filterName)?.matches
  const shown = useMemo(() => calls.filter(matches ?? (() => true)), [calls, matches])
  const keyOf = ({ id }: Call): string => `${instance} ${id}`
  const selected = shown.find((call) => keyOf(call) === selectedKey)
  const isNarrow = useMedia('(max-width: 719px)')
  return (
    <div class={selected === undefined ? 'view fills' : 'view fills with-details'}>
      <div class="list">
        <div class="list-head">
          <h1>Cycles</h1>
          {choice}
          <select
            aria-label="Result"
            value={filterName}
            onChange={(event) => setFilterName(event.currentTarget.value)}
          >
            {filters.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          {isRead && (
            <p class="muted list-note" role="status">
              {shown.length < calls.length && `${integer(shown.length)} of `}
              {counted(calls.length, 'call')}
            </p>
          )}
        </div>
        {!isRead ? (
          <Missing error={error} what="calls" />
        ) : shown.length === 0 ? (
          <p class="empty">
            {calls.length === 0 ? 'No call since the start of the service.' : 'No call matches.'}
          </p>
        ) : (
          <VirtualTable
            kind="calls-rows"
            caption="Calls, newest first"
            columns={columns}
            count={shown.length}
            rowHeight={isNarrow ? 64 : 40}
            rowKey={(index) => shown[index]?.id ?? index}
            isSelected={(index) => shown[index] === selected}
            row={(index) => {
              const call = shown[index]
              return call && <CallCells call={call} onSelect={() => setSelectedKey(keyOf(call))} />
            }}
          />
        )}
      </div>
      {selected !== undefined && <CallDetails call={selected} onClose={() => setSelectedKey('')} />}
    </div>
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

function CallCells({ call, onSelect }: { readonly call: Call; readonly onSelect: () => void }) {
  const { at, result, status, is_late, warnings, problem, counts } = call
  return (
    <>
      <Cell name="at">
        <span class="muted day">{day(at).slice(5)}</span> {clockSeconds(at)}
      </Cell>
      <Cell name="subject">
        <button class="row-link" type="button" onClick={onSelect}>
          <Text>{call.cycle_id === null ? `${call.method} ${call.path}` : cycleLabel(call.cycle_id)}</Text>
        </button>
      </Cell>
      <Cell name="result">
        <Badge tone={tones[result]}>{result}</Badge>
        {is_late && <Badge tone="warn">late</Badge>}
        {warnings.length > 0 && <Badge tone="warn">{counted(warnings.length, 'warning')}</Badge>}
        {problem !== null && (
          <span class="clip muted" title={problem}>
            {status} <Text>{problem}</Text>
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
