/**
 * The systemd unit of deploy/: settings that exist, secrets as credentials, and a sandbox. The nginx configuration is tested
 * in nginx.test.ts.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkVariables } from '../../src/cli/read-settings.js'
import { projectDir } from '../helpers/server-process.js'
import { scratchDir } from '../helpers/servers.js'

const unitFile = join(projectDir, 'deploy/understudy.service')
const unit = readFileSync(unitFile, 'utf8')
const lines = unit.split('\n')

test('the unit sets only variables that are settings', () => {
  const variables = [...unit.matchAll(/^#?Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])
  expect(variables.length).toBeGreaterThan(4)
  expect(() => checkVariables(Object.fromEntries(variables) as NodeJS.ProcessEnv)).not.toThrow()
})

test('the secrets are credentials: no command of root touches a directory that the service can write', () => {
  expect(lines).toContain('LoadCredential=api-keys:/etc/understudy/api-keys')
  expect(lines).toContain('Environment=UNDERSTUDY_API_KEYS_FILE=%d/api-keys')
  expect(lines.filter((line) => /^Exec\w+=[-@:]*[+!]/.test(line))).toEqual([])
})

test('the unit reloads by SIGHUP', () => {
  expect(lines.filter((line) => line.startsWith('ExecReload='))).toEqual([
    "ExecReload=/bin/sh -c 'kill -HUP $MAINPID'",
  ])
})

test.each([
  'NoNewPrivileges=yes',
  'ProtectSystem=strict',
  'PrivateTmp=yes',
  'UMask=0077',
  'DynamicUser=yes',
  'SystemCallFilter=~@privileged @resources',
  'SystemCallFilter=setpriority',
])('the unit has %s', (line) => expect(lines).toContain(line))

const isMissing = spawnSync('systemd-analyze', ['--version']).error !== undefined

test.skipIf(isMissing)('systemd accepts the unit', () => {
  const file = join(scratchDir(), 'understudy.service')
  writeFileSync(file, unit.replaceAll('/opt/understudy/bin/understudy', join(projectDir, 'bin/understudy')))
  const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  expect(stderr.split('\n').filter((line) => line.includes('understudy.service'))).toEqual([])
  expect(status).toBe(0)
})

test.skipIf(isMissing)(
  'systemd rates the exposure of the service as docs/security.md states it, at most 1.1',
  () => {
    const file = join(scratchDir(), 'understudy.service')
    copyFileSync(unitFile, file)
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
      encoding: 'utf8',
    })
    const exposure = /exposure level for understudy\.service: ([\d.]+)/.exec(stdout)?.[1] ?? 'none'
    expect(Number(exposure), stdout).toBeLessThanOrEqual(1.1)
    const text = readFileSync(join(projectDir, 'docs/security.md'), 'utf8')
    expect(text).toContain(`exposure level of the unit is ${exposure}`)
  },
)
