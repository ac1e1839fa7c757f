/** Models: every version with its state, where it comes from, what it costs, and the commands that change something. */
import type { ModelFacts, Models as ModelsData, ModelUse } from '../service/api.js'
import type { Comparison, VerificationReport } from '../../contract/index.js'
import { useQuery } from '../service/query.js'
import { bytes, plural, cycleLabel, dayClock, integer, milliseconds, percent, humanize } from '../format.js'
import { Badge, Command, Disclosure, Facts, Missing, Text, type Fact, type Tone } from '../parts/common.js'
import { DifferenceTable, RankerTable } from './report-tables.js'

/** A package that is copied into the models directory causes no event. */
const everyMs = 30_000

export function Models() {
  const { data, error } = useQuery<ModelsData>('/api/models', { refreshOn: ['models'], everyMs })
  return (
    <div class="view">
      <div class="list-head">
        <h1>Models</h1>
        {data !== null && (
          <p class="muted list-note">
            {plural(data.models.length, 'version')} in <code>{data.models_dir}</code>
            {data.shadow_cycles_skipped > 0 &&
              `, shadows skipped ${plural(data.shadow_cycles_skipped, 'cycle')}`}
          </p>
        )}
      </div>
      {data === null ? (
        <Missing error={error} what="models" />
      ) : data.models.length === 0 ? (
        <p class="empty">The models directory has no package.</p>
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

/** In the order of the cards. */
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
            {state}
          </Badge>
        ))}
        {uses.length === 0 && <Badge tone="plain">not in use</Badge>}
        {model.kind === 'transport-test' && <Badge tone="warn">transport test</Badge>}
      </header>
      {failure !== null && (
        <p class="notice fail">
          <strong>Failed {dayClock(failure.at)} KST:</strong> <Text>{failure.problem}</Text>
        </p>
      )}
      {data.fallback?.version === version && (
        <p class="notice warn">
          <strong>
            Serves instead of <Text>{data.fallback.failed}</Text> since {dayClock(data.fallback.at)} KST,
          </strong>{' '}
          which failed its cycles, until a version is activated: <Text>{data.fallback.problem}</Text>
        </p>
      )}
      {changed !== null && (
        <p class="notice warn">
          <strong>Changed on disk:</strong> <Text>{changed}</Text>. The server keeps the files that it has
          loaded; a restart refuses the changed ones.
        </p>
      )}
      {problem === null ? (
        <Facts facts={factsOf(model)} isLong />
      ) : (
        <p class="notice fail">
          <strong>The package cannot be read:</strong> <Text>{problem}</Text>
        </p>
      )}
      {features.length > 0 && (
        <Disclosure title={plural(features.length, 'feature')}>
          {() => <p class="muted">{features.join(', ')}</p>}
        </Disclosure>
      )}
      <Disclosure title="Checks: files, graphs, limits, cost">
        {() => <ChecksOf version={version} />}
      </Disclosure>
      {data.serving !== null && data.serving !== version && (
        <Disclosure title={`Agreement with ${data.serving}, and quality`}>
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
    ['Kind', kind ?? '–'],
    ['Heads', heads.join(', ') || '–'],
    ['Reads', ['features', ...reads].join(', ')],
    ['Runs on', providers.join(', ') || null],
    ['Memory', memory_bytes && bytes(memory_bytes)],
    [
      'Time per cycle',
      predict_ms &&
        `${milliseconds(predict_ms.p50)} median, ${milliseconds(predict_ms.p99)} p99 of ${plural(predict_ms.cycles, 'cycle')}`,
    ],
    ...given.map(([name, text]): Fact => [humanize(name), <Text key={name}>{text}</Text>]),
  ]
}

const checkTones: Readonly<Record<string, Tone>> = { pass: 'ok', warn: 'warn', fail: 'fail', skip: 'plain' }

export function ChecksOf({ version }: { readonly version: string }) {
  const { data, error } = useQuery<VerificationReport>(`/api/models/${version}/checks`)
  if (data === null) return <Missing error={error} what="checks; the service verifies the package" />
  return (
    <Facts
      isLong
      facts={data.checks.map(({ check, state, sentence }) => [
        humanize(check),
        <>
          <Badge tone={checkTones[state] ?? 'plain'}>{state}</Badge> <Text>{sentence}</Text>
        </>,
      ])}
    />
  )
}

export function ComparisonOf({ version }: { readonly version: string }) {
  const { data, error } = useQuery<Comparison>(`/api/models/${version}/comparison`)
  if (data === null) return <Missing error={error} what="comparison; the service reads its stored cycles" />
  const { cycles, posts, median, quality } = data
  if (median === null) return <p class="empty">No cycle has scores of both versions.</p>
  const overlap = Object.entries(median.overlap).flatMap(([depth, share]) =>
    share === null ? [] : [`${percent(share, 0)} of the best ${depth}`],
  )
  return (
    <>
      <Facts
        isLong
        facts={[
          ['Cycles', `${integer(cycles.count)}, ${cycleLabel(cycles.from)} to ${cycleLabel(cycles.to)}`],
          ['Posts', integer(posts)],
          ['Rank correlation', median.rank_correlation?.toFixed(3) ?? '–'],
          ['In common', overlap.join(', ') || '–'],
          ['Mean difference', median.mean_absolute_difference?.toFixed(4) ?? '–'],
        ]}
      />
      <DifferenceTable differences={[quality.difference]} />
      <RankerTable
        caption="Quality over these cycles, with 95 % intervals"
        rankers={[quality.first, quality.second]}
      />
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
      <h3>Commands</h3>
      {shown.map(([name, text]) => (
        <Command key={name} text={text} />
      ))}
      {version === serving && previous !== undefined && (
        <>
          <p class="muted">
            Back to <Text>{previous.version}</Text>, which scored before:
          </p>
          <Command text={previous.commands.activate} />
        </>
      )}
    </section>
  )
}
