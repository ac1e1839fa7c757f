/**
 * The numbers in the files of deploy/ follow from those of the service, and from what the documentation says of them. That
 * nginx, HAProxy and systemd accept the files is tested in test/system.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { connectionsMax as adminConnectionsMax } from '../src/admin/listener.js'
import { mebibyte, silentLog } from '../src/base/index.js'
import { exitCode } from '../src/cli/failure.js'
import { firstScoreTarget, gzipBodyBytesMax } from '../src/contract/index.js'
import { ConnectionLimit } from '../src/server/connection-limit.js'
import { settingsTable, type SettingName } from '../src/settings/index.js'
import { diskBytesFreeMin } from '../src/store/index.js'
import { projectDir } from './helpers/project.js'

const read = (file: string): string => readFileSync(join(projectDir, file), 'utf8')
const deployed = (file: string): string => read(`deploy/${file}`).replace(/^ *#.*$/gm, '')
/** A page, its lines joined. */
const page = (name: string): string => read(`docs/${name}.md`).replace(/\s+/g, ' ')

/** The number of the only group of a pattern, which the text has once. */
function numberIn(text: string, pattern: RegExp): number {
  const found = [...text.matchAll(new RegExp(pattern, 'gm'))].map(([, digits = '']) =>
    Number(digits.replace(/,/g, '')),
  )
  expect(found, String(pattern)).toHaveLength(1)
  return found[0]!
}

function settingNumber(name: SettingName): number {
  return Number(settingsTable[name].defaultValue?.(''))
}

const contract = page('contract')
/** Seconds. */
const limits = {
  head: numberIn(contract, /(\d+) s for a head, or without a request/),
  body: settingNumber('bodyReadMsMax') / 1000,
  unread: numberIn(contract, /(\d+) s without reading of a response/),
  idle: numberIn(contract, /Idle connections\*\* are closed after (\d+) s/),
  model: settingNumber('predictMsMax') / 1000,
  shutdown: settingNumber('shutdownMsMax') / 1000,
}

test('the documentation has the limits of the service', () => {
  expect(numberIn(contract, /(\d+) s for a body \(`bodyReadMsMax`\)/)).toBe(limits.body)
  expect(numberIn(contract, /([\d,]+) connections \(`connectionsMax`\)/)).toBe(
    settingNumber('connectionsMax'),
  )
  expect(numberIn(page('operating'), /SIGTERM ends the service within (\d+) seconds/)).toBe(
    Math.ceil(limits.shutdown),
  )
})

describe('nginx.conf', () => {
  const text = deployed('nginx.conf')

  test('allows an address what docs/contract.md says', () => {
    const [, connections, rate, burst, kib] =
      /allows each address (\d+) connections \(else 503\) and (\d+) requests a second with bursts of (\d+) \(else 429\), and (\d+) KiB for a path or header line/.exec(
        contract,
      ) ?? []
    expect(text).toMatch(new RegExp(`limit_conn +understudy_connections ${connections};`))
    expect(text).toMatch(new RegExp(`limit_req_zone .* rate=${rate}r/s;`))
    expect(text).toMatch(new RegExp(`limit_req +zone=understudy_requests burst=${burst} nodelay;`))
    expect(text).toMatch(/limit_req_status 429;/)
    expect(text).toMatch(new RegExp(`large_client_header_buffers \\d+ ${kib}k;`))
  })

  test('accepts bodies of the size that the service accepts, in the same time', () => {
    expect(numberIn(text, /client_max_body_size (\d+)m;/) * mebibyte).toBe(gzipBodyBytesMax)
    expect(numberIn(text, /client_header_timeout +(\d+)s;/)).toBe(limits.head)
    expect(numberIn(text, /client_body_timeout +(\d+)s;/)).toBe(limits.body)
    expect(numberIn(text, /^ *send_timeout +(\d+)s;/)).toBe(limits.unread)
  })

  test('leaves idle connections before the service closes them', () => {
    const [upstream = ''] = /^upstream [^}]*}/m.exec(text) ?? []
    expect(numberIn(upstream, /keepalive_timeout (\d+)s;/)).toBeLessThan(limits.idle)
  })

  test('speaks TLS as docs/security.md says, and does not show its version', () => {
    expect(page('security')).toMatch(/TLS 1\.2 \([^)]*\) and TLS 1\.3, as `deploy\/nginx\.conf` does/)
    expect(text).toMatch(/^ *ssl_protocols +TLSv1\.2 TLSv1\.3;$/m)
    expect(text).toMatch(/^ *server_tokens +off;$/m)
  })
})

test('nginx waits for a call longer than the model may take, and HAProxy as long as nginx', () => {
  for (const file of ['nginx.conf', 'nginx-ha.conf'])
    expect(numberIn(deployed(file), /proxy_read_timeout +(\d+)s;/), file).toBeGreaterThan(limits.model)
  const waitS = numberIn(deployed('nginx.conf'), /proxy_read_timeout +(\d+)s;/)
  expect(numberIn(deployed('haproxy.cfg'), /timeout server (\d+)s/)).toBe(waitS)
  const connectS = numberIn(deployed('nginx.conf'), /proxy_connect_timeout +(\d+)s;/)
  expect(numberIn(deployed('haproxy.cfg'), /timeout connect (\d+)s/)).toBe(connectS)
})

test('nginx in front of several processes has the time to try each of them', () => {
  const text = deployed('nginx-ha.conf')
  const tries = numberIn(text, /proxy_next_upstream_tries +(\d+);/)
  expect(tries).toBe(read('deploy/nginx-ha.conf').match(/^# +server 10\./gm)?.length)
  expect(numberIn(text, /proxy_next_upstream_timeout +(\d+)s;/)).toBe(
    tries * numberIn(text, /proxy_read_timeout +(\d+)s;/),
  )
})

describe('haproxy.cfg', () => {
  const text = deployed('haproxy.cfg')

  test('leaves idle connections before the service closes them', () => {
    expect(numberIn(text, /timeout http-keep-alive (\d+)s/)).toBeLessThan(limits.idle)
    expect(numberIn(text, /pool-purge-delay (\d+)s/)).toBeLessThan(limits.idle)
  })

  test('gives clients the time that the service gives', () => {
    expect(numberIn(text, /timeout http-request (\d+)s/)).toBe(limits.head)
    expect(numberIn(text, /timeout client (\d+)s/)).toBe(limits.body)
  })

  test('follows a takeover within the time that docs/high-availability.md gives for a graceful stop', () => {
    const graceful = numberIn(page('high-availability'), /([\d.]+) s: graceful stop/)
    const noticedMs = numberIn(text, /inter (\d+)ms/) * numberIn(text, /fall (\d+)/)
    expect(noticedMs / 1000).toBeLessThan(graceful)
    expect(numberIn(text, /rise (\d+)/)).toBe(1)
    // Otherwise calls in progress wait for a process that hangs.
    expect(text).toMatch(/on-marked-down shutdown-sessions/)
  })

  test('repeats no request, which a process may have received', () => {
    expect(text).toMatch(/^ *retry-on conn-failure$/m)
  })

  test('speaks TLS 1.2 and later', () => {
    expect(text).toMatch(/bind :443 ssl .* ssl-min-ver TLSv1\.2$/m)
  })
})

test('each file names the ports of the service', () => {
  const [port, adminPort] = [settingNumber('port'), settingNumber('adminPort')]
  for (const [file, pattern, expected] of [
    ['nginx.conf', /server 127\.0\.0\.1:(\d+);/, port],
    ['nginx-admin.conf', /proxy_pass http:\/\/127\.0\.0\.1:(\d+);/, adminPort],
    ['haproxy.cfg', /check port (\d+) /, adminPort],
    ['understudy.service', /^Environment=UNDERSTUDY_PORT=(\d+)$/, port],
    ['prometheus/prometheus.yml', /targets: \['understudy:(\d+)'\]/, adminPort],
  ] as const)
    expect(numberIn(deployed(file), pattern), file).toBe(expected)
  for (const file of ['nginx-ha.conf', 'haproxy.cfg'])
    expect(read(`deploy/${file}`).match(/^[# ]*server .*10\.0\.0\.1\d:\d+/gm)).toEqual(
      [1, 2, 3].map(
        (index) => expect.stringMatching(new RegExp(`10\\.0\\.0\\.1${index}:${port}$`)) as string,
      ),
    )
  expect(deployed('Dockerfile')).toContain(`EXPOSE ${port} ${adminPort}\n`)
  for (const each of [port, adminPort])
    expect(deployed('compose.yaml')).toContain(`- '127.0.0.1:${each}:${each}'\n`)
})

test('nginx-admin.conf is open to this machine and a private network, to nobody else, and keeps the cookie under TLS', () => {
  const text = deployed('nginx-admin.conf')
  const rules = [...text.matchAll(/^ *(allow|deny) +([^;]+);$/gm)].map(([, verb, who]) => `${verb} ${who}`)
  expect(rules).toEqual(['allow 10.0.0.0/8', 'allow 127.0.0.1', 'deny all'])
  expect(text).toMatch(/^ *proxy_cookie_flags ~ secure;$/m)
})

test('containers have the shared memory and the descriptors of the documentation', () => {
  const compose = deployed('compose.yaml')
  const shared = numberIn(compose, /shm_size: (\d+)m/)
  expect(numberIn(page('operating'), /--shm-size=(\d+)m/)).toBe(shared)
  expect(numberIn(page('install'), /--shm-size (\d+)m/)).toBe(shared)
  expect(numberIn(page('operating'), /`\/dev\/shm` if that has (\d+) MiB free/)).toBeLessThan(shared)
  expect(numberIn(page('install'), /--ulimit nofile=(\d+)/)).toBe(numberIn(compose, /nofile: (\d+)/))
})

test('Patroni replaces a primary in the time that docs/high-availability.md gives', () => {
  const withinS = numberIn(page('high-availability'), /Patroni demotes the leader within (\d+) s/)
  expect(numberIn(deployed('patroni.yml'), /ttl: (\d+)/)).toBe(withinS)
})

test('each supervisor waits until the service has ended by itself', () => {
  const seconds = [
    numberIn(deployed('understudy.service'), /TimeoutStopSec=(\d+)/),
    numberIn(deployed('compose.yaml'), /stop_grace_period: (\d+)s/),
    numberIn(deployed('kubernetes.yaml'), /terminationGracePeriodSeconds: (\d+)/),
  ]
  for (const each of seconds) expect(each).toBeGreaterThanOrEqual(2 * limits.shutdown)
})

test('each supervisor gives the service the descriptors of all its connections, and the same processes', () => {
  const [unit, compose] = [deployed('understudy.service'), deployed('compose.yaml')]
  for (const descriptorsMax of [numberIn(unit, /LimitNOFILE=(\d+)/), numberIn(compose, /nofile: (\d+)/)]) {
    const connections = new ConnectionLimit(settingNumber('connectionsMax'), silentLog, {
      adminConnectionsMax,
      descriptorsMax,
    })
    expect(connections.max).toBe(settingNumber('connectionsMax'))
  }
  expect(numberIn(unit, /TasksMax=(\d+)/)).toBe(numberIn(compose, /pids_limit: (\d+)/))
})

test('the unit is restarted after a failure, however often, and not after a setting that is wrong', () => {
  const unit = deployed('understudy.service')
  expect(unit).toMatch(/^Restart=on-failure$/m)
  expect(numberIn(unit, /RestartPreventExitStatus=(\d+)/)).toBe(exitCode.usage)
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m)
})

describe('the alert, the runbook and the summary have one number', () => {
  const rules = read('deploy/prometheus/understudy.rules.yml')
  const runbook = read('docs/operating.md')
  const ruleOf = (name: string): string =>
    rules.split('- alert: ').find((rule) => rule.startsWith(`${name}\n`)) ?? ''
  const sectionOf = (name: string): string =>
    runbook.split('\n### ').find((part) => part.startsWith(`${name}\n`)) ?? ''

  test.each([
    ['UnderstudyNoCycles', '> 900\n', '15 minutes', '15 minutes'],
    ['UnderstudyCyclesFail', '[10m]) > 2\n', 'More than two cycles in ten minutes', null],
    ['UnderstudyCyclesRefused', '[30m]) > 2\n', 'More than two cycles in half an hour', null],
    ['UnderstudyFirstScoresLate', `< ${firstScoreTarget}\n`, 'less than 99 %', 'Less than 99 %'],
    ['UnderstudyCyclesSlow', 'histogram_quantile(0.9, ', 'One cycle in ten', 'One cycle in ten'],
    ['UnderstudyCyclesSlow', '[30m])) > 5\n', 'longer than 5 s', 'longer than 5 s'],
    ['UnderstudyModelFailsCycles', 'for: 10m\n', 'for ten minutes', null],
    ['UnderstudyImagesWait', '> 5000\n', 'More than 5,000', null],
    ['UnderstudyDiskLow', '< 2 * 1024 * 1024 * 1024\n', 'Less than 2 GiB', 'Less than 2 GiB'],
    ['UnderstudyMemoryHeld', 'for: 30m\n', 'in 30 minutes', null],
    ['UnderstudyEventLoopBlocked', '[10m]) > 0.25\n', 'more than 250 ms', 'more than 250 ms'],
  ])('%s %s', (name, condition, inRunbook, inSummary) => {
    expect(ruleOf(name)).toContain(condition)
    expect(sectionOf(name)).toContain(inRunbook)
    if (inSummary !== null) expect(/summary: (.*)/.exec(ruleOf(name))?.[1]).toContain(inSummary)
  })

  test('a disk without room for cycles', () => {
    expect(
      numberIn(sectionOf('UnderstudyDiskLow'), /Below (\d+) MiB the service is not ready/) * mebibyte,
    ).toBe(diskBytesFreeMin)
  })
})
