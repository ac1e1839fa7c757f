/** Models: every version with its state, where it comes from, and the commands that change something. */
import type { ModelFacts, Models as ModelsData, ModelUse } from '../service/api.js'
import { useQuery } from '../service/query.js'
import { dayClock, integer, words } from '../format.js'
import { Badge, Command, Facts, Missing, type Tone } from '../parts/common.js'

export function Models() {
  const { data, error } = useQuery<ModelsData>('/api/models', { refreshOn: ['models'] })
  return (
    <div class="view">
      <div class="list-head">
        <h1>Models</h1>
        {data !== null && (
          <p class="muted list-note">
            {integer(data.models.length)} versions in <code>{data.models_dir}</code>
            {data.shadow_cycles_skipped > 0 &&
              `, shadows skipped ${integer(data.shadow_cycles_skipped)} cycles`}
          </p>
        )}
      </div>
      {data === null ? (
        <Missing error={error} what="models" />
      ) : (
        <div class="cards">
          {[...data.models]
            .sort((a, b) => weightOf(a) - weightOf(b))
            .map((model) => (
              <ModelCard key={model.version} model={model} rollback={previousOf(data, model)} />
            ))}
        </div>
      )}
    </div>
  )
}

const states: readonly { readonly state: ModelUse['state']; readonly tone: Tone }[] = [
  { state: 'serving', tone: 'ok' },
  { state: 'shadow', tone: 'accent' },
  { state: 'candidate', tone: 'accent' },
  { state: 'loading', tone: 'accent' },
  { state: 'wanted', tone: 'plain' },
  { state: 'failed', tone: 'fail' },
]

/** Versions in use come first. */
function weightOf({ uses, failure }: ModelFacts): number {
  const found = uses.map(({ state }) => states.findIndex((one) => one.state === state))
  return Math.min(...found, failure === null ? states.length : states.length - 1)
}

/** Of the serving model: the command that activates the other trained version, if there is exactly one to go back to. */
function previousOf({ models }: ModelsData, { version, uses }: ModelFacts): string | null {
  if (!uses.some(({ state }) => state === 'serving')) return null
  const others = models.filter((other) => other.version !== version && other.kind === 'trained')
  return others.length === 1 ? (others[0]?.commands['activate'] ?? null) : null
}

function ModelCard({ model, rollback }: { readonly model: ModelFacts; readonly rollback: string | null }) {
  const { version, uses, failure, problem, commands, provenance } = model
  const isServing = uses.some(({ state }) => state === 'serving')
  return (
    <section class="panel card" aria-label={version}>
      <header class="card-head">
        <h2 class="name">{version}</h2>
        {uses.map(({ role, state }) => (
          <Badge key={`${role} ${state}`} tone={states.find((one) => one.state === state)?.tone ?? 'plain'}>
            {state}
          </Badge>
        ))}
        {uses.length === 0 && <Badge tone="plain">not in use</Badge>}
        {model.kind === 'transport-test' && <Badge tone="warn">transport test</Badge>}
      </header>
      {failure !== null && (
        <p class="notice fail">
          <strong>Failed {dayClock(failure.at)}:</strong> {failure.problem}
        </p>
      )}
      {problem !== null && (
        <p class="notice fail">
          <strong>The package cannot be read:</strong> {problem}
        </p>
      )}
      {problem === null && <Facts facts={factsOf(model)} isLong />}
      {provenance !== null && provenance !== undefined && Object.keys(provenance).length > 0 && (
        <section>
          <h3>Provenance</h3>
          <Facts
            facts={Object.entries(provenance).map(([name, text]) => [words(name), text] as const)}
            isLong
          />
        </section>
      )}
      <Features names={model.features ?? []} />
      <section>
        <h3>Commands</h3>
        {Object.entries(commands)
          .filter(([name]) => !(isServing && (name === 'activate' || name === 'shadow')))
          .map(([name, text]) => (
            <Command key={name} text={text} />
          ))}
        {rollback !== null && (
          <>
            <p class="muted">Back to the other version:</p>
            <Command text={rollback} />
          </>
        )}
      </section>
    </section>
  )
}

function factsOf({ kind, uses, heads = [], reads = [], note }: ModelFacts): (readonly [string, string])[] {
  const providers = [...new Set(uses.flatMap(({ provider }) => (provider === null ? [] : [provider])))]
  return [
    ['Kind', kind ?? '–'],
    ['Heads', heads.length === 0 ? '–' : heads.join(', ')],
    ['Reads', ['features', ...reads].join(', ')],
    ...(providers.length === 0 ? [] : [['Runs on', providers.join(', ')] as const]),
    ...(note === null || note === undefined ? [] : [['Note', note] as const]),
  ]
}

function Features({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <details>
      <summary>{integer(names.length)} features</summary>
      <p class="features">{names.join(', ')}</p>
    </details>
  )
}
