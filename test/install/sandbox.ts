/**
 * The sandbox of the unit, checked by trying: one program runs outside of it, where each of its attempts must succeed, and in it.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir } from '../helpers/project.js'
import type { Machine } from './machine.js'

interface Probed {
  readonly refused: Readonly<Record<string, string>>
  readonly needed: Readonly<Record<string, string>>
  readonly status: Readonly<Record<string, string>>
}

/** The shipped unit, but for its program and its state directory. */
export function checkSandbox(machine: Machine, root: string): string {
  mkdirSync(join(root, 'opt/understudy-probe'))
  copyFileSync(
    join(projectDir, 'test/install/sandbox-probe.mjs'),
    join(root, 'opt/understudy-probe/probe.mjs'),
  )
  const probe = '/opt/understudy/bin/node /opt/understudy-probe/probe.mjs'
  const unit = readFileSync(join(projectDir, 'deploy/understudy.service'), 'utf8')
    .replace(/^ExecStart=.*$/m, `ExecStart=${probe} %S/understudy-probe`)
    .replace(/^StateDirectory=.*$/m, 'StateDirectory=understudy-probe')
    .replace(/^Type=.*$/m, 'Type=oneshot')
    .replace(/^Restart=.*$/m, 'Restart=no')
  writeFileSync(join(root, 'etc/systemd/system/understudy-probe.service'), unit)
  machine.addAddress('192.0.2.1')
  machine.shell(`install -m 4755 /usr/bin/id /opt/understudy-probe/id
    for file in /root/secret /home/secret /tmp/of-the-machine; do echo secret > $file; done
    chmod 644 /home/secret /tmp/of-the-machine
    systemctl daemon-reload`)
  const listening = "require('node:net').createServer((socket) => socket.end()).listen(7000, '0.0.0.0')"
  void machine.start(['/opt/understudy/bin/node', '--eval', listening])
  // It repeats only what is refused; that the reply is empty is an error, too.
  machine.shell('curl -s --retry 20 --retry-connrefused http://192.0.2.1:7000 || true')
  const outside = JSON.parse(
    machine.shell(`mkdir -p /srv/state; ${probe} /srv/state; umount /srv/state`),
  ) as Probed
  machine.shell('systemctl start understudy-probe')
  const printed = machine.shell('journalctl -u understudy-probe -o cat -t node')
  const inside = JSON.parse(printed.split('\n').find((line) => line.startsWith('{')) ?? 'null') as Probed
  machine.shell(
    'rm -r /etc/systemd/system/understudy-probe.service /opt/understudy-probe /var/lib/private/understudy-probe; systemctl daemon-reload',
  )
  const problems = [
    ...named(outside.refused, (result) => result !== 'allowed', 'fails outside of the sandbox too'),
    ...named(inside.refused, (result) => result === 'allowed', 'is allowed'),
    ...named(inside.needed, (result) => result !== 'allowed', 'is refused'),
  ]
  const { NoNewPrivs, Seccomp, CapEff, CapBnd } = inside.status
  if (NoNewPrivs !== '1' || Seccomp !== '2' || Number(`0x${CapEff}`) !== 0 || Number(`0x${CapBnd}`) !== 0)
    problems.push(JSON.stringify(inside.status))
  if (problems.length > 0) throw new Error(problems.join('; '))
  return `${Object.keys(inside.refused).length} attempts`
}

function named(
  results: Readonly<Record<string, string>>,
  isMeant: (result: string) => boolean,
  words: string,
): string[] {
  return Object.entries(results)
    .filter(([, result]) => isMeant(result))
    .map(([attempt, result]) => `${attempt} ${words} (${result})`)
}
