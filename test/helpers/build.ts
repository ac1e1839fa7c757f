/**
 * Global setup of the tests that start programs: builds what does not match the sources.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export default function build(): void {
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the sources do not compile')
}
