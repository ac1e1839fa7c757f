// The tests in two projects: `quick` (npm test) and `system` (npm run test:system). Both run on the sources, with the
// typia transform that the build uses; processes that they start run `dist`, which the global setup keeps up to date.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import UnpluginTypia from '@typia/unplugin/vite'
import { defineConfig, type Plugin } from 'vitest/config'

/** Whole servers, models whose processes crash or hang, PostgreSQL, kills, faults, load, and what takes many seconds. */
const system = [
  'test/system/**/*.test.ts',
  'test/{crash,faults,hostile,overload,soak}/**/*.test.ts',
  'test/failover/failover.test.ts',
  'bench/{bench,difference,journal}.test.ts',
  'test/{build,deploy-containers,package}.test.ts',
  'src/cli/models/{activate,embed,history,packages}.test.ts',
  'src/cycle/embeddings/quarantine.test.ts',
  'src/history/export/query.test.ts',
  'src/model/{loaded-model,sessions/model-process}.test.ts',
  'src/model/verification/verify.test.ts',
  'src/store/journal/{damage,pgbouncer,postgres-journal,refusals,replica,takeover}.test.ts',
  'src/store/transfer.test.ts',
  'src/store/lmdb/flush-order.test.ts',
]

/**
 * Vitest keeps compiled modules by their source. A validator that typia writes depends on types of other files too, so
 * the key of a module with validators contains a hash of all sources.
 */
const validatorsByTypes: Plugin = {
  name: 'validators-by-types',
  configureVitest({ defineCacheKeyGenerator }) {
    defineCacheKeyGenerator(({ sourceCode }) =>
      sourceCode.includes("from 'typia'") ? sourceHash() : undefined,
    )
  },
}

function sourceHash(): string {
  const root = fileURLToPath(new URL('.', import.meta.url))
  const hash = createHash('sha256')
  for (const file of globSync('src/**/*.ts', { cwd: root }).sort())
    hash.update(readFileSync(join(root, file)))
  return hash.digest('hex')
}

export default defineConfig({
  test: {
    globalSetup: ['test/helpers/build.ts'],
    projects: [
      project('quick', ['src/**/*.test.{ts,tsx}', 'test/**/*.test.ts', 'bench/**/*.test.ts'], system),
      project('system', system, []),
    ],
  },
})

function project(name: string, include: string[], exclude: string[]) {
  return {
    plugins: [UnpluginTypia(), validatorsByTypes],
    test: {
      name,
      include,
      exclude: ['**/node_modules/**', ...exclude],
      // Only a test that hangs reaches them: on a busy machine, a command at the lowest priority takes a minute.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  }
}
