/** Cycles: the newest calls as a flight recorder, and the stored cycles; each with its request and response to download. */
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Counts } from '../../contract/index.js'
import { callProblemText } from '../../contract/refusals.js'
import type { Call } from '../service/api.js'
import { useCalls, type CallList } from '../service/calls.js'
import { clockSeconds, counted, integer, milliseconds, monthDay } from '../format.js'
import { t, word } from '../messages/index.js'
import { Badge, Bar, Missing, Text, type Tone } from '../parts/common.js'
import { ListView } from '../parts/list-view.js'
import { VirtualTable, type VirtualColumn } from '../parts/virtual-table.js'
import { CallDetails, StageLegend, stageParts, tookMs } from './call-details.js'
import { StoredCycles } from './stored-cycles.js'

const lists: readonly (CallList | 'stored')[] = ['calls', 'other', 'stored']

export const filters = {
  all: () => true,
  scored: ({ result }) => result === 'scored',
  late: ({ is_late }) => is_late,
  warned: ({ warnings }) => warnings.length > 0,
  repeated: ({ result }) => result === 'repeated',
  refused: ({ result }) => result === 'refused',
  failed: ({ result }) => result === 'failed' || result === 'aborted',
} satisfies Readonly<Record<string, (call: Call) => boolean>>
type FilterName = keyof typeof filters
const filterNames = Object.keys(filters) as FilterName[]

export function Cycles() {
  const [listName, setListName] = useState<CallList | 'stored'>('calls')
  const choice = (
    <div class="tools" role="group" aria-label={t.cycles.listed}>
      {lists.map((name) => (
        <button
          key={name}
          class="button quiet"
          type="button"
          aria-pressed={name === listName}
          onClick={() => setListName(name)}
        >
          {t.cycles[name]}
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
  const [filterName, setFilterName] = useState<FilterName>('all')
  const [selectedKey, setSelectedKey] = useState('')
  const shown = useMemo(() => calls.filter(filters[filterName]), [calls, filterName])
  const keyOf = ({ id }: Call): string => `${instance} ${id}`
  const selected = shown.find((call) => keyOf(call) === selectedKey)
  return (
    <ListView
      title={t.frame.cycles}
      head={
        <>
          {choice}
          <select
            aria-label={t.cycles.result}
            value={filterName}
            onChange={(event) => setFilterName(event.currentTarget.value as FilterName)}
          >
            {filterNames.map((name) => (
              <option key={name} value={name}>
                {t.cycles.filters[name]}
              </option>
            ))}
          </select>
          {isRead && (
            <p class="muted list-note" role="status">
              {shown.length < calls.length
                ? t.units.countOf(integer(shown.length), counted(calls.length, t.units.calls))
                : counted(calls.length, t.units.calls)}
            </p>
          )}
        </>
      }
      aside={
        selected === undefined ? null : <CallDetails call={selected} onClose={() => setSelectedKey('')} />
      }
    >
      {!isRead ? (
        <Missing error={error} what={t.data.calls} />
      ) : shown.length === 0 ? (
        <p class="empty">{calls.length === 0 ? t.cycles.noCall : t.cycles.noMatch}</p>
      ) : (
        <>
          <StageLegend />
          <VirtualTable
            kind="calls-rows"
            caption={t.cycles.callsCaption}
            columns={columnsOf((call) => setSelectedKey(keyOf(call)))}
            count={shown.length}
            rowHeights={[40, 64]}
            at={(index) => shown[index]}
            rowKey={(index) => shown[index]?.id ?? index}
            isSelected={(call) => call === selected}
          />
        </>
      )}
    </ListView>
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

function columnsOf(onSelect: (call: Call) => void): readonly VirtualColumn<Call>[] {
  const count = (title: string, name: keyof Counts, from: number): VirtualColumn<Call> => ({
    title,
    from,
    class: 'number',
    width: '72px',
    cell: ({ counts }) => integer(counts?.[name]),
  })
  return [
    {
      title: t.cycles.time,
      width: '124px',
      cell: ({ at }) => (
        <>
          <span class="muted">{monthDay(at)}</span> {clockSeconds(at)}
        </>
      ),
    },
    {
      title: t.cycles.cycle,
      width: 'minmax(110px, 0.8fr)',
      cell: (call) => (
        <button class="row-link clip" type="button" onClick={() => onSelect(call)}>
          <Text>{call.cycle_id ?? `${call.method} ${call.path}`}</Text>
        </button>
      ),
    },
    { title: t.cycles.took, class: 'number', width: '76px', cell: (call) => milliseconds(tookMs(call)) },
    {
      title: t.cycles.result,
      class: 'result',
      width: 'minmax(120px, 1.6fr)',
      cell: (call) => <ResultCell call={call} />,
    },
    {
      title: t.cycles.stages,
      width: '90px',
      from: 0,
      cell: ({ stages_ms }) => <Bar parts={stageParts(stages_ms)} />,
    },
    count(t.cycles.scored, 'scored_now', 0),
    count(t.cycles.waiting, 'waiting', 900),
    count(t.cycles.notScored, 'not_scored', 900),
    {
      title: t.cycles.model,
      class: 'clip muted',
      width: 'minmax(80px, 0.8fr)',
      from: 1100,
      cell: ({ model_version }) => model_version ?? '–',
    },
  ]
}

function ResultCell({ call: { result, status, is_late, warnings, problem } }: { readonly call: Call }) {
  const why = problem === null ? null : callProblemText(problem, t.refusals)
  return (
    <>
      <Badge tone={tones[result]}>{word(result)}</Badge>
      {is_late && <Badge tone="warn">{t.cycles.late}</Badge>}
      {warnings.length > 0 && <Badge tone="warn">{counted(warnings.length, t.units.warnings)}</Badge>}
      {why !== null && (
        <span class="clip muted" title={why}>
          {status > 0 && `${status} `}
          <Text>{why}</Text>
        </span>
      )}
    </>
  )
}
