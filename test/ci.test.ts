/** The report of .ci/run: it names what could not be installed. Runs its functions with checks of its own. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/server-process.js'

const [functions = ''] =
  /^skipped=\(\)[^]*?^report\(\) \{[^]*?^\}/m.exec(readFileSync(join(projectDir, '.ci/run'), 'utf8')) ?? []

function reportOf(...calls: string[]): string {
  // Nothing is installed: `step` would run apt-get.
  const script = ['set -euo pipefail', 'step() { return 1; }', functions, ...calls, 'report'].join('\n')
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trim()
}

test('.ci/run reports success only if no step was skipped', () => {
  expect(reportOf("provide 'true' something")).toBe('== all passed')
  const report = reportOf("provide 'true' something", "provide 'false' nginx-light fonts")
  expect(report).toBe(
    '== all that ran passed; skipped:\n   the tests that need nginx-light fonts (not installed)',
  )
})
