/**
 * A short form of `npm run test:failover`: the loss of the leader's machine and a switchover lose nothing that was acknowledged.
 */
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { projectDir } from '../helpers/project.js'

const programs = ['patroni', 'etcd', 'haproxy', 'unshare', 'ip', 'psql']
const isMissing =
  process.getuid?.() !== 0 ||
  spawnSync('unshare', ['--net', '--mount', '--pid', '--fork', 'true']).status !== 0 ||
  programs.some((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
if (isMissing) console.log(`skipped: test/failover/patroni.test.ts needs root and ${programs.join(', ')}`)

const faults = ["the leader's machine is lost", 'patronictl switchover']

test.skipIf(isMissing)(
  'a Patroni cluster that loses its leader, and changes it, loses nothing that was acknowledged',
  async () => {
    const env = { ...process.env, FAILOVER_FAULT: faults.join() }
    const { stdout } = await promisify(execFile)(join(projectDir, 'test/failover/patroni.sh'), { env })
    console.log(stdout)
    for (const fault of faults)
      expect(stdout).toMatch(new RegExp(`^round \\d+: ${fault}: refused for [\\d.]+ s, ready`, 'm'))
    expect(stdout).toMatch(/^no violations, /m)
  },
  600_000,
)
