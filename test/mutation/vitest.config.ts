/** The unit tests of the room that Stryker mutates, with the typia transform of the other tests. */
import UnpluginTypia from '@typia/unplugin/vite'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [UnpluginTypia()],
  test: {
    include: JSON.parse(process.env['MUTANT_TESTS'] ?? '[]') as string[],
    setupFiles: ['test/mutation/setup.ts'],
    testTimeout: 180_000,
  },
})
