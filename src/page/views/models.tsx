/** Models: every version with its state, where it comes from, what it costs, and the commands that change something. */
import type { ModelFacts, Models as ModelsData, ModelUse } from '../service/api.js'
import type { Comparison, VerificationReport } from '../../contract/index.js'
import { useQuery } from '../service/query.js'
import { bytes, counted, cycleLabel, dayClock, decimal, integer, milliseconds, percent } from '../format.js'
import { differenceTable, rankerTable } from '../../contract/report-tables.js'
import { language, t, word } from '../messages/index.js'
import { DataTableView } from '../parts/data-table.js'
import { Badge, Command, Disclosure, Facts, Missing, Text, type Fact, type Tone } from '../parts/common.js'

/** A package that is copied into the models directory causes no event. */
const everyMs = 30_000

export function Models() {
  const { data, error } = useQuery<ModelsData>('/api/models', { refreshOn: ['models'], everyMs })
  return (
    <div class="view">
      <div class="list-head">
        <h1>{t.frame.models}</h1>
        {data !== null && (
          <p class="muted list-note">
            {t.models.inDirectory(
              counted(data.models.length, t.units.versions),
              <code>{data.models_dir}</code>,
              data.shadow_cycles_skipped > 0 ? counted(data.shadow_cycles_skipped, t.units.cycles) : null,
            )}
          </p>
        )}
      </div>
      {data !== null && data.problem !== null && (
        <p class="notice fail">
          <strong>{t.models.unlisted}</strong> <Text>{data.problem}</Text>
        </p>
      )}
      {data === null ? (
        <Missing error={error} what={t.data.models} />
      ) : data.models.length === 0 && data.problem === null ? (
        <p class="empty">{t.models.none}</p>
      ) : (
        <div class="cards">
          {[...data.models]
            .sort((a, b) => sortOrder(a) - sortOrder(b))
            .map((model) => (
              <ModelCard key={model.version} model={model} data={data} />
            ))}
        </div>
      )}
    </div>
  )
}

/** Ordered as the cards. */
const stateTones: Readonly<Record<ModelUse['state'], Tone>> = {
  serving: 'ok',
  shadow: 'accent',
  loading: 'accent',
  wanted: 'plain',
  failed: 'fail',
}

/** Versions in use come first. */
function sortOrder({ uses }: ModelFacts): number {
  const states = Object.keys(stateTones)
  return Math.min(states.length, ...uses.map(({ state }) => states.indexOf(state)))
}

function ModelCard({ model, data }: { readonly model: ModelFacts; readonly data: ModelsData }) {
  const { version, uses, failure, changed, problem, features = [] } = model
  return (
    <section class="panel card" aria-label={version}>
      <header class="card-head">
        <h2 class="name">
          <Text>{version}</Text>
        </h2>
        {uses.map(({ role, state }) => (
          <Badge key={`${role} ${state}`} tone={stateTones[state]}>
            {word(state)}
          </Badge>
        ))}
        {uses.length === 0 && <Badge tone="plain">{t.models.notInUse}</Badge>}
        {model.kind === 'transport-test' && <Badge tone="warn">{word(model.kind)}</Badge>}
      </header>
      {failure !== null && (
        <p class="notice fail">
          <strong>{t.models.failedAt(dayClock(failure.at))}</strong> <Text>{failure.problem}</Text>
        </p>
      )}
      {data.fallback?.version === version && (
        <p class="notice warn">
          {t.models.fallback[data.fallback.cause](
            <Text>{data.fallback.failed}</Text>,
            dayClock(data.fallback.at),
            <Text>{data.fallback.problem}</Text>,
          )}
        </p>
      )}
      {changed !== null && <p class="notice warn">{t.models.changed(<Text>{changed}</Text>)}</p>}
      {problem === null ? (
        <Facts facts={factsOf(model)} isLong />
      ) : (
        <p class="notice fail">
          <strong>{t.models.unreadable}</strong> <Text>{problem}</Text>
        </p>
      )}
      {features.length > 0 && (
        <Disclosure title={counted(features.length, t.units.features)}>
          {() => <p class="muted">{features.join(', ')}</p>}
        </Disclosure>
      )}
      <Disclosure title={t.models.checks}>{() => <ChecksOf version={version} />}</Disclosure>
      {data.serving !== null && data.serving !== version && (
        <Disclosure title={t.models.agreement(data.serving)}>
          {() => <ComparisonOf version={version} />}
        </Disclosure>
      )}
      <Commands model={model} data={data} />
    </section>
  )
}

function factsOf(model: ModelFacts): readonly Fact[] {
  const { kind, uses, heads = [], reads = [], note, provenance, memory_bytes, predict_ms } = model
  const providers = [...new Set(uses.flatMap(({ provider }) => provider ?? []))]
  const given = Object.entries({ ...(note ? { note } : {}), ...provenance })
  return [
    [t.models.kind, kind === undefined ? '–' : word(kind)],
    [t.models.heads, heads.join(', ') || '–'],
    [t.models.reads, [t.models.features, ...reads.map(word)].join(', ')],
    [t.models.runsOn, providers.join(', ') || null],
    [t.models.memory, memory_bytes && bytes(memory_bytes)],
    [
      t.models.timePerCycle,
      predict_ms &&
        t.models.times(
          milliseconds(predict_ms.p50),
          milliseconds(predict_ms.p99),
          counted(predict_ms.cycles, t.units.cycles),
        ),
    ],
    ...given.map(([name, text]): Fact => [word(name), <Text key={name}>{text}</Text>]),
  ]
}

const checkTones: Readonly<Record<string, Tone>> = { pass: 'ok', warn: 'warn', fail: 'fail', skip: 'plain' }

export function ChecksOf({ version }: { readonly version: string }) {
  const { data, error } = useQuery<VerificationReport>(`/api/models/${version}/checks`)
  if (data === null) return <Missing error={error} what={t.data.checks} loading={t.data.checksRun} />
  return (
    <Facts
      isLong
      facts={data.checks.map(({ check, state, sentence }) => [
        word(check),
        <>
          <Badge tone={checkTones[state] ?? 'plain'}>{word(state)}</Badge> <Text>{sentence}</Text>
        </>,
      ])}
    />
  )
}

export function ComparisonOf({ version }: { readonly version: string }) {
  const { data, error } = useQuery<Comparison>(`/api/models/${version}/comparison`)
  if (data === null) return <Missing error={error} what={t.data.comparison} loading={t.data.comparisonRead} />
  const { cycles, posts, median, quality } = data
  const rankers = [quality.first, quality.second]
  if (median === null) return <p class="empty">{t.models.nothingShared}</p>
  const overlap = Object.entries(median.overlap).flatMap(([depth, share]) =>
    share === null ? [] : [t.models.overlap(percent(share, 0), depth)],
  )
  return (
    <>
      <Facts
        isLong
        facts={[
          [
            t.models.cycles,
            t.models.cycleRange(integer(cycles.count), cycleLabel(cycles.from), cycleLabel(cycles.to)),
          ],
          [t.models.posts, integer(posts)],
          [t.models.correlation, decimal(median.rank_correlation)],
          [t.models.inCommon, overlap.join(', ') || '–'],
          [t.models.meanDifference, decimal(median.mean_absolute_difference, 4)],
        ]}
      />
      <DataTableView table={rankerTable(rankers, t.report.qualityCaption, language)} />
      <DataTableView table={differenceTable([quality.difference], rankers, language)} />
    </>
  )
}

/** Those that change something for this version. For the serving version: the rollback command. */
function Commands({ model, data }: { readonly model: ModelFacts; readonly data: ModelsData }) {
  const { commands, version } = model
  const { serving } = data
  const previous = data.models.find((one) => one.version === data.previous)
  const shown = Object.entries(commands).filter(
    ([name]) => version !== serving || (name !== 'activate' && name !== 'shadow'),
  )
  return (
    <section>
      <h3>{t.models.commands}</h3>
      {shown.map(([name, text]) => (
        <Command key={name} text={text} />
      ))}
      {version === serving && previous !== undefined && (
        <>
          <p class="muted">{t.models.backTo(<Text>{previous.version}</Text>)}</p>
          <Command text={previous.commands.activate} />
        </>
      )}
    </section>
  )
}
