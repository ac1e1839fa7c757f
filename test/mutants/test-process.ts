/**
 * The process that runs tests for `run.ts`: one vitest for many mutants, which compiles again only what a mutant changes.
 * Receives a {@link Job} and replies with an {@link Outcome}.
 */
import { join } from 'node:path'
import UnpluginTypia from '@typia/unplugin/vite'
import { createVitest, type TestModule } from 'vitest/node'

export interface Job {
  readonly tests: readonly string[]
  /** Sources that changed since the last job. */
  readonly changed: readonly string[]
}

export interface Outcome {
  /** Titles of failed tests, or the errors of files that cannot be loaded. */
  readonly failures: readonly string[]
  readonly testCount: number
}

const root = process.cwd()
const vitest = await createVitest(
  {
    root,
    config: false,
    watch: false,
    include: ['{src,test,bench}/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    bail: 1,
    // The directory is a new one each time, and the cache would grow.
    fsModuleCache: false,
    reporters: [{}],
  },
  { plugins: [UnpluginTypia()] },
)
await vitest.standalone()
const project = vitest.getRootProject()

async function runTests({ tests, changed }: Job): Promise<Outcome> {
  for (const file of changed) vitest.invalidateFile(join(root, file))
  // Results of earlier runs would count again.
  vitest.state.filesMap.clear()
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
    tests.map((file) => project.createSpecification(join(root, file))),
  )
  const errors = unhandledErrors.map((error) => String((error as Error | undefined)?.message ?? error))
  return {
    failures: [...testModules.flatMap(failuresOf), ...errors],
    testCount: testModules.flatMap((module) => [...module.children.allTests()]).length,
  }
}

function failuresOf(module: TestModule): string[] {
  return [
    ...module.errors().map(({ message }) => message),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors().map(({ message }) => message)),
    ...[...module.children.allTests('failed')].map(({ fullName }) => fullName),
  ]
}

process.on('message', (job: Job) => {
  void runTests(job).then((outcome) => process.send?.(outcome))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
