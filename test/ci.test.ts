/** The functions of .ci/run, with commands of this test: the final report, and commands that run at the same time. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/project.js'

const run = readFileSync(join(projectDir, '.ci/run'), 'utf8')
const [functions = ''] = /^skipped=[^]*?^report\(\) \{[^]*?^\}/m.exec(run) ?? []
const [together = ''] = /^together\(\) \{[^]*?^\}/m.exec(run) ?? []

function reportOf(...calls: string[]): string {
  // Nothing is installed: `step` would run apt-get.
  const script = ['set -euo pipefail', 'step() { return 1; }', functions, ...calls, 'report'].join('\n')
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trim()
}

test('.ci/run reports success only if no step was skipped', () => {
  expect(reportOf("provide 'true' something")).toBe('== all passed')
  const report = reportOf(
    "provide 'true' something",
    "provide 'false' nginx-light fonts",
    "skip 'a lane' &",
    'wait',
  )
  expect(report).toBe(
    '== all that ran passed; skipped:\n   the tests that need nginx-light fonts (not installed)\n   a lane',
  )
})

test('commands that run at the same time wait for each other, print one after the other, and fail if one fails', () => {
  // Each command waits until the other has started.
  const meet = [
    'meet() {',
    'touch "$1"; while [ ! -e "$2" ]; do sleep 0.01; done',
    'echo "$1 has met $2"',
    '}',
  ]
  const runTogether = (second: string) => {
    const script = ['set -euo pipefail', 'cd "$(mktemp -d)"', together, ...meet]
    const call = `together 'meet a b' '${second}'; echo passed`
    return spawnSync('bash', ['-c', [...script, call].join('\n')], { encoding: 'utf8' })
  }
  const { status, stdout } = runTogether('meet b a')
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: '\n== meet a b\na has met b\n\n== meet b a\nb has met a\npassed\n',
  })
  const failed = runTogether('eval touch b; false')
  expect([failed.status, failed.stdout]).toEqual([
    1,
    '\n== meet a b\na has met b\n\n== eval touch b; false\n',
  ])
})
