// The tests in six projects: `quick` and `pure` (npm test), `page` (npm run test:page), `system` and `alone` (together with `page`:
// npm run test:system), `gpu` (npm run test:gpu). All run on the sources, with the typia transform that the build uses; threads
// and processes that they start, and the browser, run `dist`, which is brought up to date when it is needed first.
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import UnpluginTypia from '@typia/unplugin/vite'
import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { hashFiles, withImports } from './scripts/source-hash.mjs'

/** Whole servers, models whose processes crash or hang, PostgreSQL, kills, faults, load, and what takes many seconds. */
const system = [
  'test/system/**/*.test.ts',
  'test/{crash,upgrade}/**/*.test.ts',
  'test/failover/{failover,patroni}.test.ts',
  'test/soak/year.test.ts',
  'bench/{bench,difference}.test.ts',
  'test/{build,deploy-containers,package}.test.ts',
  'src/cli/models/{activate,embed,history,init,packages}.test.ts',
  'src/cycle/embeddings/quarantine.test.ts',
  'src/history/export/query.test.ts',
  'src/model/{loaded-model,sessions/model-process,sessions/session-host}.test.ts',
  'src/model/verification/verify.test.ts',
  'src/store/journal/{connection,damage,pgbouncer,postgres-journal,refusals,replica,takeover}.test.ts',
  'src/store/transfer.test.ts',
  'src/store/lmdb/flush-order.test.ts',
]

/** They load the machine, or compare what work costs: no other file runs beside one of them. */
const alone = ['test/hostile/**/*.test.ts', 'test/soak/{growth,soak}.test.ts']

/**
 * Their files share a process, which loads the sources once. No test of these rooms replaces a module, or leaves something in
 * one that another test would see.
 */
const pure = ['src/{base,cli,codec,contract,history,images,model,pool,records,simulator}/**/*.test.ts']

/** Started first, so that none of them runs on alone at the end. */
const longest = [
  'test/failover/patroni.test.ts',
  'test/failover/failover.test.ts',
  'bench/bench.test.ts',
  'test/system/tutorial.test.ts',
  'test/sim/simulation.test.ts',
]

/** The built page in a Chromium that they share, without a service. */
const page = ['test/page/**/*.test.ts']

/** They need a Vulkan driver. */
const gpu = ['test/gpu/**/*.test.ts']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLongest = ({ moduleId }: TestSpecification) => longest.some((file) => moduleId.endsWith(file))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))]
  }
}

const root = fileURLToPath(new URL('.', import.meta.url))

/**
 * Vitest keeps compiled modules by their source. A validator that typia writes depends on types of other files too, so
 * the key of a module with validators contains a hash of all that it imports.
 */
const validatorsByTypes: Plugin = {
  name: 'validators-by-types',
  configureVitest({ defineCacheKeyGenerator }) {
    defineCacheKeyGenerator(({ id, sourceCode }) =>
      sourceCode.includes("from 'typia'")
        ? hashFiles(root, ['package-lock.json', ...withImports(root, [relative(root, id)])])
        : undefined,
    )
  },
}

/** Before `dist` is used, it is brought up to date. */
const buildsFirst: Plugin = {
  name: 'builds-first',
  enforce: 'pre',
  resolveId: (id, importer) =>
    id === './built-file.js' && importer?.endsWith('/src/base/index.ts') === true
      ? fileURLToPath(new URL('test/helpers/built-file.ts', import.meta.url))
      : undefined,
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      project('quick', ['src/**/*.test.{ts,tsx}', 'test/**/*.test.ts', 'bench/**/*.test.ts'], {
        exclude: [...system, ...alone, ...gpu, ...page, ...pure],
        maxWorkers: '100%',
        groupOrder: 0,
        startsPrograms: false,
      }),
      project('pure', pure, {
        exclude: system,
        maxWorkers: '100%',
        groupOrder: 0,
        isolate: false,
        startsPrograms: false,
      }),
      project('page', page, {
        maxWorkers: '100%',
        groupOrder: 0,
        isolate: false,
        globalSetup: 'test/helpers/page-browser.ts',
      }),
      // Each of these files takes two thirds of a processor: the rest of its time it waits, for processes, disks, the next second.
      project('system', system, { maxWorkers: Math.ceil(availableParallelism() * 1.5), groupOrder: 1 }),
      project('alone', alone, { maxWorkers: 1, groupOrder: 2 }),
      project('gpu', gpu, { maxWorkers: 1, groupOrder: 3 }),
    ],
  },
})

interface ProjectOptions {
  readonly exclude?: readonly string[]
  readonly maxWorkers: number | string
  /** Projects with another number of workers run one after the other. */
  readonly groupOrder: number
  readonly isolate?: boolean
  /** Whether most of its files do, so that the build comes first. */
  readonly startsPrograms?: boolean
  readonly globalSetup?: string
}

function project(
  name: string,
  include: string[],
  {
    exclude = [],
    maxWorkers,
    groupOrder,
    isolate = true,
    startsPrograms = true,
    globalSetup = startsPrograms ? 'test/helpers/build.ts' : 'test/helpers/build-once.ts',
  }: ProjectOptions,
) {
  return {
    plugins: [UnpluginTypia(), validatorsByTypes, buildsFirst],
    test: {
      name,
      include,
      globalSetup: [globalSetup],
      exclude: ['**/node_modules/**', ...exclude],
      maxWorkers,
      sequence: { groupOrder },
      isolate,
      // Only a test that hangs reaches them: on a busy machine, a command at the lowest priority takes a minute.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  }
}
