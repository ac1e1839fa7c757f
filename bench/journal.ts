/**
 * How much longer does a cycle take through the journal than with LMDB alone? `npm run bench:journal` measures both in turn,
 * with the journal's three PostgreSQL servers on the same machine. The target is at most three times.
 */
import { parseArgs } from 'node:util'
import { measureCycles } from './cycles.js'
import { withJournal } from './postgres.js'
import { currentConditions } from './project.js'
import { cycleScenarios, isCycleScenario, scaledShape, type CycleScenarioName } from './scenarios.js'
import { median } from './statistics.js'

export interface JournalBenchOptions {
  readonly scenario: CycleScenarioName
  /** Each measures both, in alternating order. */
  readonly rounds: number
  readonly cycleCount: number
  readonly scale: number
}

/** Median milliseconds of a cycle; `ratio` is the median of the ratios of the rounds. */
export interface JournalBenchFigures {
  readonly lmdbMs: number
  readonly journalMs: number
  readonly ratio: number
}

export async function compareJournal(
  { scenario, rounds, cycleCount, scale }: JournalBenchOptions,
  print: (text: string) => void,
): Promise<JournalBenchFigures> {
  const shape = scaledShape(cycleScenarios[scenario].shape, scale)
  const names = Array.from({ length: rounds }, (_, round) => `round-${round}`)
  return withJournal(names, async ({ url }) => {
    const lmdb: number[] = []
    const journal: number[] = []
    for (let round = 0; round < rounds; round++) {
      const off = { UNDERSTUDY_ADMIN_PORT: 'off' }
      const on = { ...off, UNDERSTUDY_JOURNAL: url, UNDERSTUDY_ENVIRONMENT: `round-${round}` }
      const p50 = async (name: string, env: Record<string, string>): Promise<number> =>
        (await measureCycles({ scenario: name, shape, cycleCount, server: { env } })).latencyMs.p50
      const order = round % 2 === 0 ? ([lmdb, journal] as const) : ([journal, lmdb] as const)
      for (const samples of order)
        samples.push(await (samples === lmdb ? p50('LMDB', off) : p50('journal', on)))
      print(
        `round ${round + 1}: LMDB ${lmdb[round]?.toFixed(2) ?? ''} ms, journal ${journal[round]?.toFixed(2) ?? ''} ms`,
      )
    }
    const ratio = median(journal.map((ms, round) => ms / (lmdb[round] ?? NaN)))
    return { lmdbMs: median(lmdb), journalMs: median(journal), ratio }
  })
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string', default: 'typical' },
      rounds: { type: 'string', default: '5' },
      cycles: { type: 'string', default: '60' },
    },
  })
  if (!isCycleScenario(values.scenario)) throw new Error(`no cycle scenario ${values.scenario}`)
  const { commit, machine } = currentConditions()
  console.log(`${values.scenario}, ${commit}, ${machine}`)
  const { lmdbMs, journalMs, ratio } = await compareJournal(
    {
      scenario: values.scenario,
      rounds: Number(values.rounds),
      cycleCount: Number(values.cycles),
      scale: 1,
    },
    (text) => console.log(text),
  )
  console.log(
    `LMDB ${lmdbMs.toFixed(2)} ms, journal ${journalMs.toFixed(2)} ms: ${ratio.toFixed(2)} times (at most 3)`,
  )
  process.exitCode = ratio <= 3 ? 0 : 1
}
