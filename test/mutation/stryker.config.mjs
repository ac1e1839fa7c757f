// How Stryker runs for one folder of src; run.ts names it, and the files, in the environment.
import { availableParallelism } from 'node:os'

const { MUTATED_ROOM, MUTATED_FILES, MUTANT_REPORT, MUTANT_CONCURRENCY } = process.env

export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.ts' },
  mutate: MUTATED_FILES.split(','),
  // Wording has tests of its own, in other folders.
  mutator: { excludedMutations: ['StringLiteral'] },
  ignoreStatic: true,
  ignorePatterns: ['bench', 'data', 'deploy', 'build/stryker', 'build/Release/obj.target'],
  tempDirName: 'build/stryker',
  incremental: true,
  incrementalFile: `build/mutants-${MUTATED_ROOM.replace('/', '-')}.json`,
  // A machine that is busy for half a minute makes no mutant time out.
  timeoutMS: 30_000,
  concurrency: Number(MUTANT_CONCURRENCY ?? availableParallelism()),
  reporters: ['clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
  jsonReporter: { fileName: MUTANT_REPORT },
  allowConsoleColors: false,
}
