/**
 * Global setup of the tests: compiles `dist` when it does not match the sources. Tests that start processes run it.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export default function build(): void {
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the sources do not compile')
}
