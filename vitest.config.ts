// The tests in two projects: `quick` (npm test) and `system` (npm run test:system). Both run on the sources, with the
// typia transform that the build uses; processes that they start run `dist`, which the global setup keeps up to date.
import UnpluginTypia from '@typia/unplugin/vite'
import { defineConfig } from 'vitest/config'

/** Whole servers, kills, faults, load, and what takes many seconds. */
const system = [
  'test/system/**/*.test.ts',
  'test/{crash,faults,hostile,overload,soak}/**/*.test.ts',
  'bench/bench.test.ts',
]

export default defineConfig({
  test: {
    globalSetup: ['test/helpers/build.ts'],
    projects: [
      project('quick', ['src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'], system),
      project('system', system, []),
    ],
  },
})

function project(name: string, include: string[], exclude: string[]) {
  return {
    plugins: [UnpluginTypia()],
    test: {
      name,
      include,
      exclude: ['**/node_modules/**', ...exclude],
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  }
}
