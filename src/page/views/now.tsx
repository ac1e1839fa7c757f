/** Now: the state of the service, the last cycle, and the cycles before it. */
import { useState } from 'preact/hooks'
import type { Now } from '../service/api.js'
import { useNowMs } from '../service/clock.js'
import type { Query } from '../service/query.js'
import {
  ago,
  bytes,
  clock,
  clockSeconds,
  counted,
  cycleLabel,
  dayClock,
  duration,
  integer,
  milliseconds,
  percent,
  sinceStart,
} from '../format.js'
import { t, word } from '../messages/index.js'
import { Badge, Bar, Command, Missing, Panel, Text, Tile } from '../parts/common.js'
import { overdueMs, shownChecks } from './health.js'
import { NowCharts } from './now-charts.js'

export function NowView({ query: { data, error } }: { readonly query: Query<Now> }) {
  return (
    <div class="view">
      <h1 class="sr-only">{t.frame.now}</h1>
      {data === null ? <Missing error={error} what={t.data.now} /> : <State now={data} />}
      {data !== null && data.first_cycle_command === null && <NowCharts startedAt={data.started_at} />}
    </div>
  )
}

function State({ now }: { readonly now: Now }) {
  const nowMs = useNowMs()
  return (
    <>
      {now.failed_versions.map((failed) => (
        <Failed
          key={`${failed.role} ${failed.version}`}
          failed={failed}
          serving={now.model?.version ?? null}
        />
      ))}
      <ul class="checks" aria-label={t.now.checks}>
        {shownChecks(now, nowMs).map(({ check, status, longText }) => (
          <li key={check} class={`check ${status}`}>
            <b>{word(check)}</b> <Badge tone={status}>{word(status)}</Badge>
            <small>
              <Text>{longText}</Text>
            </small>
          </li>
        ))}
      </ul>
      {now.first_cycle_command !== null && now.model !== null && (
        <FirstCycle command={now.first_cycle_command} />
      )}
      <Tiles now={now} />
    </>
  )
}

const detailsKey = 'understudy-details'

/** Each with its one figure, to be read from afar. A button, whose state is remembered, adds the details of all. */
function Tiles({ now }: { readonly now: Now }) {
  const [isDetailed, setIsDetailed] = useState(localStorage.getItem(detailsKey) === 'shown')
  const toggle = (): void => {
    localStorage.setItem(detailsKey, isDetailed ? 'hidden' : 'shown')
    setIsDetailed(!isDetailed)
  }
  const hasCycles = now.last_cycle_id !== null
  const props = { now, isDetailed }
  return (
    <section class="state-tiles" aria-label={t.now.figures}>
      <button class="button quiet" type="button" aria-pressed={isDetailed} onClick={toggle}>
        {t.now.details}
      </button>
      <div class={hasCycles ? 'tiles five' : 'tiles'}>
        {hasCycles && (
          <>
            <LastCycle {...props} />
            <Posts {...props} />
            <FirstScoreShare {...props} />
          </>
        )}
        <ModelInForce {...props} />
        <Machine {...props} />
      </div>
    </section>
  )
}

interface TileProps {
  readonly now: Now
  readonly isDetailed: boolean
}

/** Instead of tiles without figures, until the first cycle arrives. */
function FirstCycle({ command }: { readonly command: string }) {
  return (
    <Panel title={t.now.firstTitle}>
      <p>{t.now.firstText}</p>
      <Command text={command} />
      <p class="muted">{t.now.firstMore}</p>
    </Panel>
  )
}

interface FailedProps {
  readonly failed: Now['failed_versions'][number]
  readonly serving: string | null
}

/** What could not be loaded, or failed its cycles, what the service does instead, and what the operator can do. */
function Failed({ failed, serving }: FailedProps) {
  const { version, kind, role, problem, at, commands } = failed
  const what = kind === 'cycles' ? 'model' : role === 'active' ? 'activation' : 'shadow'
  return (
    <section class="notice fail" aria-label={t.now.failedLabel(version, kind)}>
      <p>
        <strong>{t.now.failed(what, version, dayClock(at))}</strong> <Text>{problem}</Text>
      </p>
      {role === 'active' && <p>{insteadOf(kind, serving)}</p>}
      <p>{role === 'active' && serving !== null ? t.now.seeChecksOrStay : t.now.seeChecks}</p>
      {commands.map((text) => (
        <Command key={text} text={text} />
      ))}
    </section>
  )
}

function insteadOf(kind: FailedProps['failed']['kind'], serving: string | null): string {
  if (serving === null) return t.now.noneServes
  return kind === 'cycles' ? t.now.servesInstead(serving) : t.now.keepsServing(serving)
}

function LastCycle({ now, isDetailed }: TileProps) {
  const nowMs = useNowMs()
  const { last_cycle, last_cycle_id, last_cycle_received_at: at } = now
  if (last_cycle_id === null || at === null) return null
  const dueText = (): string => {
    if (now.next_cycle === null) return '–'
    const { due_at, overdue_from } = now.next_cycle
    return overdue_from === null ? clock(due_at) : t.now.dueAt(clock(due_at), ago(due_at, nowMs))
  }
  const lateMs = overdueMs(now, nowMs)
  return (
    <Tile
      title={t.now.lastCycle}
      value={
        <time dateTime={at} title={clockSeconds(at)}>
          {ago(at, nowMs)}
        </time>
      }
      unit={cycleLabel(last_cycle_id)}
      facts={
        isDetailed && [
          [t.now.took, milliseconds(last_cycle?.ms)],
          [t.now.nextDue, dueText()],
        ]
      }
    >
      {lateMs !== null && <Badge tone="warn">{t.now.nextOverdue(duration(lateMs))}</Badge>}
    </Tile>
  )
}

function Posts({ now: { pending, last_cycle }, isDetailed }: TileProps) {
  const counts = last_cycle?.counts
  const reasons = (last_cycle?.results ?? []).filter(
    ({ status, count }) => status === 'not_scored' && count > 0,
  )
  return (
    <Tile
      title={t.now.pending}
      value={integer(pending)}
      unit={counts && t.now.scoredOf(integer(counts.scored_now))}
      facts={
        isDetailed && [
          [t.now.scored, integer(counts?.scored_now)],
          [t.now.waiting, integer(counts?.waiting)],
          [t.now.notScored, integer(counts?.not_scored)],
          ...reasons.map(({ reason, count }) => [`· ${word(reason ?? 'other')}`, integer(count)] as const),
        ]
      }
    >
      <Bar
        parts={[
          { name: t.now.scored, value: counts?.scored_now ?? 0, color: 1 },
          { name: t.now.waiting, value: counts?.waiting ?? 0, color: 3 },
          { name: t.now.notScored, value: counts?.not_scored ?? 0, color: 5 },
        ]}
      />
    </Tile>
  )
}

function FirstScoreShare({ now: { first_scores, started_at }, isDetailed }: TileProps) {
  const nowMs = useNowMs()
  const { share, target, on_time, late, never, overdue } = first_scores
  const tone = share === null ? 'muted' : share >= target ? 'text-ok' : 'text-fail'
  const parts = [
    { name: t.now.onTime, value: on_time, color: 2 },
    { name: t.now.late, value: late, color: 3 },
    { name: t.now.overdueFirst, value: overdue, color: 6 },
    { name: t.now.leftWithout, value: never, color: 5 },
  ]
  return (
    <Tile
      title={t.now.firstScores}
      value={<span class={tone}>{percent(share)}</span>}
      unit={t.now.target(percent(target, 0))}
      facts={
        isDetailed && [
          ...parts.map(({ name, value }) => [name, integer(value)] as const),
          [t.now.counted, sinceStart(started_at, nowMs) ?? t.now.lastDay],
        ]
      }
    >
      <Bar parts={parts} />
    </Tile>
  )
}

function ModelInForce({ now, isDetailed }: TileProps) {
  const { model, shadows, weights_version, version } = now
  return (
    <Tile
      title={t.now.model}
      value={
        <span class={model === null ? 'text-fail' : 'name'} title={model?.version}>
          <Text>{model?.version ?? t.parts.none}</Text>
        </span>
      }
      facts={
        isDetailed && [
          [t.now.kind, model === null ? '–' : word(model.kind)],
          [t.now.runsOn, model?.provider ?? '–'],
          [
            t.now.shadows,
            shadows.length === 0 ? t.parts.none : <Text key="shadows">{shadows.join(', ')}</Text>,
          ],
          [t.now.weights, <Text key="weights">{weights_version}</Text>],
          [t.now.serviceVersion, version],
        ]
      }
    >
      {model?.kind === 'transport-test' && <Badge tone="warn">{t.now.noMeaning}</Badge>}
    </Tile>
  )
}

function Machine({ now: { queue, storage, memory, started_at }, isDetailed }: TileProps) {
  const nowMs = useNowMs()
  return (
    <Tile
      title={t.now.machine}
      value={bytes(storage.free_bytes)}
      unit={t.now.diskUnit}
      facts={
        isDetailed && [
          [t.now.data, bytes(storage.size_bytes)],
          [t.now.memory, bytes(memory.resident_bytes)],
          [t.now.queued, t.units.countOf(integer(queue.cycles), integer(queue.cycles_max))],
          [
            t.now.toEncode,
            `${counted(queue.texts, t.units.texts)}, ${counted(queue.images, t.units.images)}`,
          ],
          [t.now.started, ago(started_at, nowMs)],
        ]
      }
    />
  )
}
