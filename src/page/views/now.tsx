/** Now: the state of the service, the last cycle, and how the cycles of the last day went. */
import type { Now } from '../service/api.js'
import type { Query } from '../service/query.js'
import {
  ago,
  bytes,
  clock,
  clockSeconds,
  cycleLabel,
  duration,
  integer,
  milliseconds,
  percent,
  words,
} from '../format.js'
import { useNowMs } from '../parts/clock.js'
import { Badge, Bar, Facts, Missing, Tile } from '../parts/common.js'
import { NowCharts } from './now-charts.js'

export function NowView({ query: { data, error } }: { readonly query: Query<Now> }) {
  return (
    <div class="view">
      <h1 class="sr-only">Now</h1>
      {data === null ? <Missing error={error} what="state" /> : <State now={data} />}
      <NowCharts />
    </div>
  )
}

function State({ now }: { readonly now: Now }) {
  return (
    <>
      <Checks now={now} />
      <div class="tiles">
        <LastCycle now={now} />
        <Posts now={now} />
        <FirstScoreShare now={now} />
        <ModelInForce now={now} />
        <Machine now={now} />
      </div>
    </>
  )
}

function Checks({ now: { checks } }: { readonly now: Now }) {
  return (
    <ul class="checks" aria-label="Health checks">
      {checks.map(({ check, status, reason }) => (
        <li key={check} class={`check ${status}`}>
          <b>{words(check)}</b> <Badge tone={status}>{status}</Badge>
          <span class="reason">{reason}</span>
        </li>
      ))}
    </ul>
  )
}

/** A cycle may take a moment to arrive after it is due. */
const graceMs = 60_000
/** A cycle that arrives further from its time is of a simulated or repeated past: the next one is not overdue. */
const delayMsMax = 30 * 60_000

function LastCycle({ now }: { readonly now: Now }) {
  const nowMs = useNowMs()
  const { last_cycle, last_cycle_id, last_cycle_received_at, next_cycle_due_at } = now
  if (last_cycle_id === null || last_cycle_received_at === null)
    return <Tile title="Last cycle" value={<span class="muted">none yet</span>} />
  const dueMs = next_cycle_due_at === null ? null : Date.parse(next_cycle_due_at)
  const isLive = dueMs !== null && Math.abs(Date.parse(last_cycle_received_at) - dueMs) < delayMsMax
  const isOverdue = isLive && nowMs > dueMs + graceMs
  return (
    <Tile title="Last cycle" value={cycleLabel(last_cycle_id)}>
      <Facts
        facts={[
          [
            'Arrived',
            <time key="at" dateTime={last_cycle_received_at} title={clockSeconds(last_cycle_received_at)}>
              {ago(last_cycle_received_at, nowMs)}
            </time>,
          ],
          ['Took', milliseconds(last_cycle?.ms)],
          [
            'Next due',
            dueMs === null ? (
              '–'
            ) : isOverdue ? (
              <Badge tone="warn">{duration(nowMs - dueMs)} overdue</Badge>
            ) : (
              `${clock(dueMs)}${isLive ? `, ${ago(dueMs, nowMs)}` : ''}`
            ),
          ],
        ]}
      />
    </Tile>
  )
}

function Posts({ now: { pending, last_cycle } }: { readonly now: Now }) {
  const counts = last_cycle?.counts
  const reasons = (last_cycle?.results ?? []).filter(
    ({ status, count }) => status === 'not_scored' && count > 0,
  )
  return (
    <Tile title="Pending posts" value={integer(pending)}>
      {counts !== undefined && (
        <Bar
          parts={[
            { name: 'scored', value: counts.scored_now, color: 1 },
            { name: 'waiting', value: counts.waiting, color: 3 },
            { name: 'not scored', value: counts.not_scored, color: 5 },
          ]}
        />
      )}
      <Facts
        facts={[
          ['Scored', integer(counts?.scored_now)],
          ['Waiting', integer(counts?.waiting)],
          ['Not scored', integer(counts?.not_scored)],
          ...reasons.map(({ reason, count }) => [`· ${words(reason ?? 'other')}`, integer(count)] as const),
        ]}
      />
    </Tile>
  )
}

function FirstScoreShare({ now: { first_scores } }: { readonly now: Now }) {
  const { share, target, on_time, late, never, overdue } = first_scores
  const tone = share === null ? 'muted' : share >= target ? 'text-ok' : 'text-fail'
  return (
    <Tile
      title="First scores in time"
      value={
        <>
          <span class={tone}>{percent(share)}</span> <small>target {percent(target, 0)}</small>
        </>
      }
    >
      <Bar
        parts={[
          { name: 'in time', value: on_time, color: 2 },
          { name: 'late', value: late, color: 3 },
          { name: 'overdue', value: overdue, color: 6 },
          { name: 'never', value: never, color: 5 },
        ]}
      />
      <Facts
        facts={[
          ['In time', integer(on_time)],
          ['Late', integer(late)],
          ['Overdue', integer(overdue)],
          ['Left without one', integer(never)],
        ]}
      />
    </Tile>
  )
}

function ModelInForce({ now: { model, shadows, weights_version, version } }: { readonly now: Now }) {
  return (
    <Tile
      title="Model in force"
      value={model === null ? <span class="text-fail">none</span> : <span class="name">{model.version}</span>}
    >
      <Facts
        facts={[
          [
            'Kind',
            model === null ? (
              '–'
            ) : model.kind === 'transport-test' ? (
              <Badge tone="warn">transport test: scores mean nothing</Badge>
            ) : (
              model.kind
            ),
          ],
          ['Runs on', model?.provider ?? '–'],
          ['Shadows', shadows.length === 0 ? 'none' : shadows.join(', ')],
          ['Weights', weights_version],
          ['Service', version],
        ]}
      />
    </Tile>
  )
}

function Machine({ now: { queue, storage, memory, started_at } }: { readonly now: Now }) {
  const nowMs = useNowMs()
  return (
    <Tile
      title="Machine"
      value={
        <>
          {bytes(storage.free_bytes)} <small>disk free</small>
        </>
      }
    >
      <Facts
        facts={[
          ['Data', bytes(storage.size_bytes)],
          ['Memory', bytes(memory.resident_bytes)],
          ['Cycles queued', `${queue.cycles} of ${queue.cycles_max}`],
          ['To encode', `${integer(queue.texts)} texts, ${integer(queue.images)} images`],
          ['Started', ago(started_at, nowMs)],
        ]}
      />
    </Tile>
  )
}
