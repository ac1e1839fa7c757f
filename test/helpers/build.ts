/**
 * Global setup of the tests: compiles `dist`, which tests that start processes run, and the addon, when they do not match
 * the sources.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export default function build(): void {
  for (const [script, ...args] of [['build.mjs'], ['build-native.mjs', '--if-changed']]) {
    const path = fileURLToPath(new URL(`../../scripts/${script}`, import.meta.url))
    const { status } = spawnSync(process.execPath, [path, ...args], { stdio: 'inherit' })
    if (status !== 0) throw new Error('the sources do not compile')
  }
}
