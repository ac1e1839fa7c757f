/**
 * The systemd unit of deploy/: settings that exist, secrets as credentials, and a sandbox. The nginx configuration is tested
 * in nginx.test.ts.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { checkVariables } from '../../src/cli/settings/read-settings.js'
import { projectDir } from '../helpers/project.js'
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
  // Also those that are comments.
  const loaded = [...unit.matchAll(/^(#?)LoadCredential=([\w-]+):\/etc\/understudy\//gm)]
  const used = [...unit.matchAll(/^(#?)Environment=\w+=%d\/([\w-]+)$/gm)]
  const namesOf = (matches: RegExpExecArray[]): string[] => matches.map(([, off, name]) => `${off}${name}`)
  expect(namesOf(used)).toEqual(namesOf(loaded))
  expect(namesOf(loaded)).toContain('#settings')
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
  'StateDirectoryMode=0700',
  'KillMode=mixed',
  'OOMPolicy=continue',
  'SystemCallFilter=~@privileged @resources',
  'SystemCallFilter=setpriority',
])('the unit has %s', (line) => expect(lines).toContain(line))

const isMissing = spawnSync('systemd-analyze', ['--version']).error !== undefined

/** The unit in a directory of its own, with a program that exists. */
function writtenUnit(): string {
  const file = join(scratchDir(), 'understudy.service')
  writeFileSync(file, unit.replaceAll('/opt/understudy/bin/understudy', join(projectDir, 'bin/understudy')))
  return file
}

function expectAccepted(file: string): void {
  const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  expect(stderr.split('\n').filter((line) => line.includes('understudy.service'))).toEqual([])
  expect(status).toBe(0)
}

test.skipIf(isMissing)('systemd accepts the unit', () => {
  expectAccepted(writtenUnit())
})

test.skipIf(isMissing)('the drop-in of docs/gpu.md opens the devices of GPUs, and no others', () => {
  expect(unit).toContain('docs/gpu.md')
  const page = readFileSync(join(projectDir, 'docs/gpu.md'), 'utf8')
  const [, path = '', dropIn = ''] =
    /`\/etc\/systemd\/system\/(understudy\.service\.d\/\S+)`[^]*?```ini\n([^]*?)```/.exec(page) ?? []
  const file = writtenUnit()
  mkdirSync(join(dirname(file), dirname(path)))
  writeFileSync(join(dirname(file), path), dropIn)
  expectAccepted(file)
  const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--json=short', file], {
    encoding: 'utf8',
  })
  const assessments = JSON.parse(stdout) as { name: string; set: boolean | null; description: string }[]
  const assessed = Object.fromEntries(assessments.map((each) => [each.name, each]))
  expect(assessed['PrivateDevices=']?.set).toBe(false)
  // The clock is readable by ProtectClock=yes, which with DevicePolicy=auto denies every device that is not named.
  expect(assessed['DeviceAllow=']?.description.split(': ')[1]?.split(' ').sort()).toEqual([
    'char-drm:rw',
    'char-nvidia*:rw',
    'char-rtc:r',
  ])
  expect(assessed['SupplementaryGroups=']?.description).toBe('Service runs with supplementary groups')
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
