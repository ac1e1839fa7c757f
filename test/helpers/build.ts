/**
 * Global setup of the tests that start programs: builds what does not match the sources.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** `part`: one part of `dist` alone, such as `page`. */
export default function build(part?: unknown): void {
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
  const parts = typeof part === 'string' ? [part] : []
  const { status } = spawnSync(process.execPath, [script, ...parts], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the sources do not compile')
}
