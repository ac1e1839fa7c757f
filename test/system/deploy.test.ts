/**
 * What lies in deploy/: settings that exist, a sandbox that keeps its measure, and secrets that change hands.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkVariables } from '../../src/cli/read-settings.js'
import { projectDir } from '../helpers/server-process.js'
import { scratchDir } from '../helpers/servers.js'

const unitFile = join(projectDir, 'deploy/understudy.service')
const unit = readFileSync(unitFile, 'utf8')

describe('the unit', () => {
  test('sets variables that the service knows', () => {
    const variables = [...unit.matchAll(/^#?Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [
      name,
      value,
    ])
    expect(variables.length).toBeGreaterThan(4)
    expect(() => checkVariables(Object.fromEntries(variables) as NodeJS.ProcessEnv)).not.toThrow()
  })

  test.each([
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    'PrivateTmp=yes',
    'UMask=0077',
    'DynamicUser=yes',
  ])('has %s', (line) => expect(unit.split('\n')).toContain(line))

  test('reloads by SIGHUP, after it has handed over the secrets', () => {
    const lines = unit.split('\n').filter((line) => line.startsWith('ExecReload='))
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/hand-over-secrets \/etc\/understudy %t\/understudy$/)
    expect(lines[1]).toBe('ExecReload=/bin/kill -HUP $MAINPID')
  })

  const missing = spawnSync('systemd-analyze', ['security', '--offline=true', unitFile]).status === null
  test.skipIf(missing)('is exposed as little as systemd-analyze can say of a service with priorities', () => {
    const offline = ['security', '--offline=true', '--no-pager']
    // For three calls of @resources it counts all of them: 0.2, without which it says 0.9 and SAFE.
    const { status } = spawnSync('systemd-analyze', [...offline, '--threshold=11', unitFile])
    expect(status).toBe(0)
    const without = join(scratchDir(), 'understudy.service')
    writeFileSync(
      without,
      unit.replace('SystemCallFilter=setpriority sched_setscheduler sched_setaffinity\n', ''),
    )
    const { stdout } = spawnSync('systemd-analyze', [...offline, without], { encoding: 'utf8' })
    expect(stdout).toContain('SAFE')
  })

  test('lets cycles go ahead and processes fall behind and come back, no further than the service does, and places threads', () => {
    const filters = unit.split('\n').filter((line) => line.startsWith('SystemCallFilter='))
    // In this order: the last word on a call counts.
    expect(filters).toEqual([
      'SystemCallFilter=@system-service',
      'SystemCallFilter=~@privileged @resources',
      'SystemCallFilter=setpriority sched_setscheduler sched_setaffinity',
    ])
    expect(unit.split('\n')).toContain('LimitNICE=-5')
    // Nice does not count between two services.
    expect(unit.split('\n')).toContain('CPUWeight=200')
  })
})

// `chown --reference` is GNU's.
describe.runIf(process.platform === 'linux')('secrets that are handed over', () => {
  let from: string
  let to: string
  beforeEach(() => {
    const base = scratchDir()
    from = join(base, 'from')
    to = join(base, 'to')
    mkdirSync(from)
    mkdirSync(to)
  })

  const handOver = () =>
    spawnSync(join(projectDir, 'deploy/hand-over-secrets'), [from, to], { encoding: 'utf8' })

  test('can be read by their new owner alone, and others of the directory stay where they are', () => {
    writeFileSync(join(from, 'api-keys'), 'key-number-1-0123456789\n')
    chmodSync(join(from, 'api-keys'), 0o644)
    writeFileSync(join(from, 'environment'), 'X=1\n')
    expect(handOver()).toMatchObject({ status: 0, stderr: '' })
    expect(readdirSync(to)).toEqual(['api-keys'])
    expect(readFileSync(join(to, 'api-keys'), 'utf8')).toBe('key-number-1-0123456789\n')
    expect(statSync(join(to, 'api-keys')).mode & 0o777).toBe(0o400)
    expect(statSync(join(to, 'api-keys')).uid).toBe(statSync(to).uid)
  })

  test('replace what was there as a new file, and go when they are gone', () => {
    writeFileSync(join(from, 'api-keys'), 'key-number-1-0123456789\n')
    handOver()
    const before = statSync(join(to, 'api-keys')).ino
    writeFileSync(join(from, 'api-keys'), 'key-number-2-0123456789\n')
    for (const name of ['tls-cert', 'tls-key']) writeFileSync(join(from, name), name)
    expect(handOver().status).toBe(0)
    expect(readFileSync(join(to, 'api-keys'), 'utf8')).toBe('key-number-2-0123456789\n')
    expect(statSync(join(to, 'api-keys')).ino).not.toBe(before)
    expect(existsSync(join(to, 'tls-key'))).toBe(true)
    for (const name of ['tls-cert', 'tls-key']) spawnSync('rm', [join(from, name)])
    handOver()
    expect(readdirSync(to)).toEqual(['api-keys'])
  })
})

test('the proxy names the client to the service', () => {
  const proxy = readFileSync(join(projectDir, 'deploy/nginx.conf'), 'utf8')
  expect(proxy).toContain('proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;')
  expect(unit).toContain('Environment=UNDERSTUDY_TRUSTED_PROXY_COUNT=1')
})
