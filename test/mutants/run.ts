/**
 * `npm run test:mutants`: shows that the tests find bugs. Applies each mutant of the lists in this folder to a copy of
 * the tree and runs the tests that are named for it, or the simulation; exits 1 if one survives.
 *
 *   npm run test:mutants -- --slice 3/40     every 40th mutant, from the third on
 *   npm run test:mutants -- src/pool late    mutants whose name contains all of these words
 *   npm run test:mutants -- --list           names only
 */
import { fork, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { mutants } from './index.js'
import type { Mutant } from './mutant.js'
import type { Job, Outcome } from './test-process.js'
import { MutantTree } from './tree.js'

/** Tests that do not end because of a mutant have found it. */
const testMsMax = 300_000
const simulationMsMax = 600_000
const simulationSeeds = process.env.SIM_SEEDS ?? '2000'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Runs tests in one process after the other: a new one after a test that did not end. */
class TestRunner {
  readonly #directory: string
  #child: { readonly process: ChildProcess; readonly ended: Promise<never> } | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  async run(job: Job): Promise<Outcome> {
    this.#child ??= await this.#start()
    const { process: child, ended } = this.#child
    const report = once(child, 'message', { signal: AbortSignal.timeout(testMsMax) })
    child.send(job)
    try {
      const [outcome] = (await Promise.race([report, ended])) as [Outcome]
      return outcome
    } catch (error) {
      this.stop()
      return { failures: [error instanceof Error ? error.message : String(error)], testCount: 0 }
    }
  }

  stop(): void {
    const pid = this.#child?.process.pid
    this.#child = undefined
    // The process leads a group that contains its workers.
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  }

  async #start(): Promise<{ process: ChildProcess; ended: Promise<never> }> {
    const child = fork('test/mutants/test-process.ts', {
      cwd: this.#directory,
      // Not the hooks of this process: they would lead the tests to dist.
      execArgv: [],
      // typia's plugin writes to the standard output.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      detached: true,
    })
    const ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]): never => {
      throw new Error(`the test process ended with ${signal ?? code}`)
    })
    ended.catch(() => undefined)
    await Promise.race([once(child, 'message'), ended])
    return { process: child, ended }
  }
}

/** The first failure of the simulation; null if all seeds pass. */
function simulate(directory: string): string | null {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', './test/sim/sources.mjs', 'test/sim/run.ts'],
    {
      cwd: directory,
      env: { ...process.env, SIM_SEEDS: simulationSeeds, SIM_PROCESSES: '1' },
      encoding: 'utf8',
      timeout: simulationMsMax,
    },
  )
  if (status === 0) return null
  return /seed \d+, step \d+: .*/.exec(stderr)?.[0] ?? `${stdout}${stderr}`.slice(-500)
}

async function findFailure(mutant: Mutant, tree: MutantTree, runner: TestRunner): Promise<string | null> {
  const { sources, hasTypes, restore } = tree.apply(mutant)
  try {
    if (mutant.killedBy === 'simulation') return simulate(tree.directory)
    // typia's plugin keeps the types that it has read.
    if (hasTypes) runner.stop()
    const { failures } = await runner.run({ tests: mutant.killedBy, changed: [...sources, ...lastChanged] })
    lastChanged = sources
    return failures[0] ?? null
  } finally {
    restore()
    if (hasTypes) runner.stop()
  }
}

/** Sources of the mutant before this one, which have been restored. */
let lastChanged: readonly string[] = []

function chosenMutants(): Mutant[] {
  const { values, positionals } = parseArgs({
    options: { slice: { type: 'string', default: '1/1' }, list: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [, place, count] = /^(\d+)\/(\d+)$/.exec(values.slice) ?? []
  if (place === undefined || Number(place) < 1 || Number(place) > Number(count))
    throw new Error(`--slice is a place and a number of slices, as in 3/40: ${values.slice}`)
  const chosen = mutants
    .filter(({ name }) => positionals.every((word) => name.includes(word)))
    .filter((_, index) => index % Number(count) === Number(place) - 1)
  if (values.list) {
    for (const { name } of chosen) console.log(name)
    process.exit()
  }
  return chosen
}

async function runAll(chosen: readonly Mutant[]): Promise<number> {
  const tree = new MutantTree(root)
  const runner = new TestRunner(tree.directory)
  try {
    const tests = [...new Set(chosen.flatMap(({ killedBy }) => (killedBy === 'simulation' ? [] : killedBy)))]
    console.log(`${chosen.length} mutants; without a mutant, ${tests.length} test files must pass`)
    const { failures, testCount } = await runner.run({ tests, changed: [] })
    if (failures.length > 0) throw new Error(`fails without a mutant: ${failures.join('; ')}`)
    console.log(`${testCount} tests pass`)
    let survivorCount = 0
    for (const mutant of chosen) {
      const startedMs = performance.now()
      const failure = await findFailure(mutant, tree, runner)
      if (failure === null) survivorCount++
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      console.log(
        `${failure === null ? 'SURVIVED' : 'killed'} ${seconds} s, ${mutant.name}\n    ${failure ?? ''}`,
      )
    }
    console.log(`${chosen.length} mutants, ${survivorCount} survived`)
    return survivorCount
  } finally {
    runner.stop()
    tree.remove()
  }
}

process.exitCode = (await runAll(chosenMutants())) === 0 ? 0 : 1
