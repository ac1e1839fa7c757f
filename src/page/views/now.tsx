/** Now: the state of the service, the last cycle, and the cycles before it. */
import { minuteMs } from '../../base/units.js'
import type { Now } from '../service/api.js'
import { useNowMs } from '../service/clock.js'
import type { Query } from '../service/query.js'
import {
  ago,
  bytes,
  clock,
  clockSeconds,
  plural,
  cycleLabel,
  dayClock,
  duration,
  integer,
  milliseconds,
  percent,
  sinceStart,
  humanize,
} from '../format.js'
import { Badge, Bar, Command, Missing, Text, Tile } from '../parts/common.js'
import { NowCharts } from './now-charts.js'

export function NowView({ query: { data, error } }: { readonly query: Query<Now> }) {
  return (
    <div class="view">
      <h1 class="sr-only">Now</h1>
      {data === null ? <Missing error={error} what="state" /> : <State now={data} />}
      <NowCharts startedAt={data?.started_at ?? null} />
    </div>
  )
}

function State({ now }: { readonly now: Now }) {
  return (
    <>
      {now.failed_versions.map((failed) => (
        <Failed
          key={`${failed.role} ${failed.version}`}
          failed={failed}
          serving={now.model?.version ?? null}
        />
      ))}
      <ul class="checks" aria-label="Health checks">
        {now.checks.map(({ check, status, reason }) => (
          <li key={check} class={`check ${status}`}>
            <b>{humanize(check)}</b> <Badge tone={status}>{status}</Badge>
            <small>
              <Text>{reason}</Text>
            </small>
          </li>
        ))}
      </ul>
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

interface FailedProps {
  readonly failed: Now['failed_versions'][number]
  readonly serving: string | null
}

/** What could not be loaded, or failed its cycles, what the service does instead, and what the operator can do. */
function Failed({ failed, serving }: FailedProps) {
  const { version, kind, role, problem, at, commands } = failed
  const what = kind === 'cycles' ? 'Model' : role === 'active' ? 'Activation' : 'Shadow'
  return (
    <section
      class="notice fail"
      aria-label={`${version} ${kind === 'cycles' ? 'failed its cycles' : 'failed to load'}`}
    >
      <p>
        <strong>
          {what} failed: {version}, {dayClock(at)} KST.
        </strong>{' '}
        <Text>{problem}</Text>
      </p>
      {role === 'active' && <p>{insteadOf(kind, serving)}</p>}
      <p>
        To see every check of the package
        {role === 'active' && serving !== null && ', or to stay with the version that serves'}:
      </p>
      {commands.map((text) => (
        <Command key={text} text={text} />
      ))}
    </section>
  )
}

function insteadOf(kind: FailedProps['failed']['kind'], serving: string | null): string {
  if (serving === null) return 'No model is serving: cycles get 503. The service keeps retrying.'
  return kind === 'cycles'
    ? `${serving}, which served before, serves instead until a version is activated.`
    : `${serving} keeps serving. The service keeps retrying.`
}

/** A cycle may take a moment to arrive after it is due. */
const graceMs = 60_000
/** A cycle that arrives further from its time is of a simulated or repeated past: the next one is not overdue. */
const delayMsMax = 30 * minuteMs

function LastCycle({ now }: { readonly now: Now }) {
  const nowMs = useNowMs()
  const { last_cycle, last_cycle_id, last_cycle_received_at, next_cycle_due_at } = now
  if (last_cycle_id === null || last_cycle_received_at === null)
    return <Tile title="Last cycle" value={<span class="muted">none yet</span>} />
  const dueMs = next_cycle_due_at === null ? null : Date.parse(next_cycle_due_at)
  const isLive = dueMs !== null && Math.abs(Date.parse(last_cycle_received_at) - dueMs) < delayMsMax
  const isOverdue = isLive && nowMs > dueMs + graceMs
  const due = isOverdue ? (
    <Badge tone="warn">{duration(nowMs - dueMs)} overdue</Badge>
  ) : dueMs === null ? (
    '–'
  ) : (
    `${clock(dueMs)}${isLive ? `, ${ago(dueMs, nowMs)}` : ''}`
  )
  return (
    <Tile
      title="Last cycle"
      value={cycleLabel(last_cycle_id)}
      facts={[
        [
          'Arrived',
          <time key="at" dateTime={last_cycle_received_at} title={clockSeconds(last_cycle_received_at)}>
            {ago(last_cycle_received_at, nowMs)}
          </time>,
        ],
        ['Took', milliseconds(last_cycle?.ms)],
        ['Next due', due],
      ]}
    />
  )
}

function Posts({ now: { pending, last_cycle } }: { readonly now: Now }) {
  const counts = last_cycle?.counts
  const reasons = (last_cycle?.results ?? []).filter(
    ({ status, count }) => status === 'not_scored' && count > 0,
  )
  return (
    <Tile
      title="Pending posts"
      value={integer(pending)}
      facts={[
        ['Scored', integer(counts?.scored_now)],
        ['Waiting', integer(counts?.waiting)],
        ['Not scored', integer(counts?.not_scored)],
        ...reasons.map(({ reason, count }) => [`· ${humanize(reason ?? 'other')}`, integer(count)] as const),
      ]}
    >
      <Bar
        parts={[
          { name: 'scored', value: counts?.scored_now ?? 0, color: 1 },
          { name: 'waiting', value: counts?.waiting ?? 0, color: 3 },
          { name: 'not scored', value: counts?.not_scored ?? 0, color: 5 },
        ]}
      />
    </Tile>
  )
}

function FirstScoreShare({ now: { first_scores, started_at } }: { readonly now: Now }) {
  const nowMs = useNowMs()
  const { share, target, on_time, late, never, overdue } = first_scores
  const tone = share === null ? 'muted' : share >= target ? 'text-ok' : 'text-fail'
  const parts = [
    { name: 'On time', value: on_time, color: 2 },
    { name: 'Late', value: late, color: 3 },
    { name: 'Overdue', value: overdue, color: 6 },
    { name: 'Left without one', value: never, color: 5 },
  ]
  return (
    <Tile
      title="First scores on time"
      value={<span class={tone}>{percent(share)}</span>}
      unit={`target ${percent(target, 0)}`}
      facts={[
        ...parts.map(({ name, value }) => [name, integer(value)] as const),
        ['Counted', sinceStart(started_at, nowMs) ?? 'last 24 h'],
      ]}
    >
      <Bar parts={parts} />
    </Tile>
  )
}

function ModelInForce({ now: { model, shadows, weights_version, version } }: { readonly now: Now }) {
  return (
    <Tile
      title="Model in force"
      value={
        <span class={model === null ? 'text-fail' : 'name'}>
          <Text>{model?.version ?? 'none'}</Text>
        </span>
      }
      facts={[
        ['Kind', model?.kind ?? '–'],
        ['Runs on', model?.provider ?? '–'],
        ['Shadows', shadows.length === 0 ? 'none' : <Text key="shadows">{shadows.join(', ')}</Text>],
        ['Weights', <Text key="weights">{weights_version}</Text>],
        ['Service', version],
      ]}
    >
      {model?.kind === 'transport-test' && <Badge tone="warn">scores have no meaning</Badge>}
    </Tile>
  )
}

function Machine({ now: { queue, storage, memory, started_at } }: { readonly now: Now }) {
  const nowMs = useNowMs()
  return (
    <Tile
      title="Machine"
      value={bytes(storage.free_bytes)}
      unit="disk free"
      facts={[
        ['Data', bytes(storage.size_bytes)],
        ['Memory', bytes(memory.resident_bytes)],
        ['Cycles queued', `${queue.cycles} of ${queue.cycles_max}`],
        ['To encode', `${plural(queue.texts, 'text')}, ${plural(queue.images, 'image')}`],
        ['Started', ago(started_at, nowMs)],
      ]}
    />
  )
}
