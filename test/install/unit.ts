/**
 * The systemd unit on a booted machine, installed by the commands of docs/install.md: faults, secrets, sandbox, a full disk, an
 * upgrade and its rollback, and that uninstalling leaves nothing.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTlsFiles } from '../helpers/tls-files.js'
import type { Check } from './checks.js'
import { commandsBelow } from './documents.js'
import { InstalledUnit, type Called } from './installed-unit.js'
import type { Machine } from './machine.js'
import { checkSandbox } from './sandbox.js'

export interface Installed {
  readonly machine: Machine
  /** The root directory of the machine, from outside. */
  readonly root: string
  readonly check: Check
}

const dataDir = '/var/lib/understudy'
/** As the documents name it, for the commands of the upgrade. */
const newVersion = '0.2.0'

export async function checkUnit({ machine, root, check }: Installed): Promise<void> {
  const unit = new InstalledUnit(machine)

  await check('the commands of docs/install.md install the unit, and it is ready', () => {
    const printed = machine.shell(commandsBelow('## systemd'))
    if (!printed.includes('"status":"ready"')) throw new Error(printed)
    return machine
      .shell('systemd-analyze security understudy --no-pager | tail -n 1')
      .trim()
      .replace(/^\W+/, '')
  })

  await check('an operator may restart it as often as necessary', async () => {
    for (let count = 0; count < 7; count++) machine.shell('systemctl restart understudy')
    await unit.until('the unit is ready', () => unit.isReady())
    return '7 restarts in a row'
  })

  await check(
    'nothing is lost by SIGKILL and `systemctl restart` under cycles: the client repeats its calls',
    async () => {
      const simulation = machine.start(simulate('24', '--seed', '1'))
      for (const command of ['kill -s KILL', 'restart', 'kill -s KILL', 'restart']) {
        await unit.cyclesStored(5)
        const before = unit.mainPid()
        machine.shell(`systemctl ${command} understudy`)
        await unit.until('another process is ready', () => unit.mainPid() !== before && unit.isReady())
      }
      const { status, text } = await simulation.ended
      if (status !== 0) throw new Error(text)
      const retries = /"retries":\s*(\d+)/.exec(text)?.[1] ?? '0'
      if (retries === '0') throw new Error('no call was repeated: the client was not interrupted')
      machine.shell(`understudy verify --data-dir ${dataDir}`)
      return `2 kills, 2 restarts, 288 cycles, ${retries} calls repeated`
    },
  )

  await check('the log is in the journal, one JSON object per line', () => {
    const lines = machine
      .shell('journalctl -u understudy -o json --output-fields=MESSAGE,_TRANSPORT')
      .trim()
      .split('\n')
    const messages = lines
      .map((line) => JSON.parse(line) as { MESSAGE: string; _TRANSPORT: string })
      .filter(({ _TRANSPORT }) => _TRANSPORT === 'stdout')
      .map(({ MESSAGE }) => MESSAGE)
    const logged = messages
      .filter((message) => message.startsWith('{'))
      .map((message) => JSON.parse(message) as { msg: string })
    const scored = logged.filter(({ msg }) => msg === 'cycle scored').length
    if (scored < 280) throw new Error(`${scored} cycles are in the journal`)
    return `${messages.length} lines, ${scored} cycles`
  })

  await check('a settings file is applied by `systemctl reload` without a restart', async () => {
    machine.shell(`printf '{"logLevel":"warn"}' > /etc/understudy.json
      echo UNDERSTUDY_CONFIG=/etc/understudy.json >> /etc/understudy/environment`)
    await unit.restart()
    const before = unit.mainPid()
    machine.shell(`printf '{"logLevel":"info"}' > /etc/understudy.json; systemctl reload understudy`)
    await unit.until('the log names the setting', () => unit.journal().includes('settings reloaded'))
    if (unit.mainPid() !== before) throw new Error('the process was replaced')
    machine.shell('rm /etc/understudy.json /etc/understudy/environment')
    await unit.restart()
  })

  await check('keys: a reload keeps the credentials, a restart applies them', async () => {
    const newKey = 'a-new-key-for-the-test-0123456789'
    machine.shell(`echo ${newKey} >> /etc/understudy/api-keys; systemctl reload understudy`)
    await unit.until('the settings were read', () => unit.journal().includes('settings reloaded'))
    expectStatus(unit.call('/v1/weights', { key: newKey }), 401)
    await unit.restart()
    expectStatus(unit.call('/v1/weights', { key: newKey }), 200)
    machine.shell(`sed -i /${newKey}/d /etc/understudy/api-keys`)
    await unit.restart()
    expectStatus(unit.call('/v1/weights', { key: newKey }), 401)
    expectStatus(unit.call('/v1/weights'), 200)
  })

  await check(
    'certificates: the lines of the unit serve TLS, and a restart applies a new certificate',
    async () => {
      const first = makeTlsFiles(root + '/root', 'first')
      const second = makeTlsFiles(root + '/root', 'second')
      const install = (from: { cert: string; key: string }): void => {
        copyFileSync(from.cert, join(root, 'etc/understudy/tls-cert'))
        copyFileSync(from.key, join(root, 'etc/understudy/tls-key'))
      }
      install(first)
      // The lines that the unit has as comments.
      machine.shell(
        `sed -i -E 's/^#(.*tls-(cert|key))$/\\1/' /etc/systemd/system/understudy.service; systemctl daemon-reload`,
      )
      const subject = (): string =>
        machine.run(['sh', '-c', 'curl -vsk https://127.0.0.1:8080/v1/health 2>&1 | grep subject: || true'])
          .text
      machine.shell('systemctl restart understudy')
      await unit.until('the first certificate is served', () => subject().includes('CN=first'))
      install(second)
      machine.shell('systemctl restart understudy')
      await unit.until('the second certificate is served', () => subject().includes('CN=second'))
      machine.shell(`cp /opt/understudy/deploy/understudy.service /etc/systemd/system/
      systemctl daemon-reload; rm /etc/understudy/tls-*`)
      await unit.restart()
    },
  )

  await check('the sandbox refuses each attempt that succeeds outside of it', () =>
    checkSandbox(machine, root),
  )

  await check(
    'on a full disk a cycle gets 503, the unit stays active, and the same cycle succeeds later',
    async () => {
      machine.shell(`systemctl stop understudy
        mount -t tmpfs -o size=400m,mode=700 tmpfs /var/lib/private/understudy`)
      try {
        await unit.restart()
        expectStatus(unit.postCycle(0), 200)
        machine.shell(`head -c 1G /dev/zero > /var/lib/private/understudy/full 2>/dev/null || true`)
        expectStatus(unit.postCycle(1), 503)
        await unit.until('health is degraded', () => unit.call('/v1/health').body.includes('"degraded"'))
        if (machine.run(['systemctl', 'is-active', 'understudy']).text.trim() !== 'active')
          throw new Error('the unit is not active')
        machine.shell('rm /var/lib/private/understudy/full')
        await unit.until('the cycle is stored', () => unit.postCycle(1).status === 200)
        await unit.until('health is ok', () => unit.call('/v1/health').body.includes('"ok"'))
      } finally {
        machine.shell('systemctl stop understudy; umount /var/lib/private/understudy')
      }
      await unit.restart()
    },
  )

  await check(
    'an upgrade and a rollback by docs/install.md keep the data, and serve it byte for byte',
    async () => {
      const scores = `/v1/scores/${unit.lastCycleId()}`
      const before = unit.call(scores)
      expectStatus(before, 200)
      machine.shell(commandsBelow('### Upgrade'))
      await unit.until('the new version is ready', () => unit.isReady())
      expectText(machine.shell('understudy --version'), newVersion)
      expectText(unit.call(scores).body, before.body)
      machine.run(simulate('0.5', '--seed', '2', '--into-used-server'))
      const later = unit.call(`/v1/scores/${unit.lastCycleId()}`)
      if (later.body === before.body) throw new Error('the new version stored no cycle')
      machine.shell(commandsBelow('### Rollback'))
      await unit.until('the old version is ready', () => unit.isReady())
      expectText(unit.call(scores).body, before.body)
      expectText(unit.call(`/v1/scores/${unit.lastCycleId()}`).body, later.body)
      machine.shell(`understudy verify --data-dir ${dataDir}`)
    },
  )

  await check('a backup is restored by the commands of docs/operating.md', async () => {
    const backup = '/var/backups/understudy-before-0.2.0'
    machine.shell(`systemctl stop understudy
      mkdir -m 700 ${dataDir}.damaged && mv ${dataDir}/* ${dataDir}.damaged/
      understudy restore ${backup} --data-dir ${dataDir}
      chown -R --reference=${dataDir}/. ${dataDir}/.
      systemctl start understudy`)
    await unit.until('the unit is ready', () => unit.isReady())
    machine.shell(`understudy verify --data-dir ${dataDir}; rm -r ${dataDir}.damaged ${backup}`)
  })

  await check('the commands for removal leave nothing', () => {
    machine.shell(commandsBelow('### Uninstall'))
    const left = machine.run([
      'find',
      '/etc',
      '/opt',
      '/usr',
      '/var',
      '/run',
      '-name',
      '*understudy*',
      '-not',
      '-path',
      '/var/log/*',
    ])
    const files = left.text
      .trim()
      .split('\n')
      .filter((file) => file !== '' && !file.includes('understudy-probe'))
    if (files.length > 0) throw new Error(files.join(', '))
    const { status } = machine.run(['systemctl', 'status', 'understudy'])
    if (status !== 4) throw new Error('systemd still knows the unit')
  })
}

function simulate(hours: string, ...options: string[]): string[] {
  const keys = ['--api-keys-file', '/etc/understudy/api-keys']
  return ['understudy', 'simulate', '--json', '--retry-timeout', '300', '--hours', hours, ...keys, ...options]
}

function expectStatus({ status, body }: Called, expected: number): void {
  if (status !== expected) throw new Error(`status ${status}, expected ${expected}: ${body}`)
}

function expectText(found: string, expected: string): void {
  if (found.trim() !== expected.trim())
    throw new Error(`${found.slice(0, 200)}, expected ${expected.slice(0, 200)}`)
}
