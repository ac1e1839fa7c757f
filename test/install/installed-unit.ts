/** The installed service, as somebody on its machine sees it: systemctl, journalctl, and curl. */
import { setTimeout as delay } from 'node:timers/promises'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import type { Machine } from './machine.js'

export interface Called {
  readonly status: number
  readonly body: string
}

const waitMsMax = 180_000

export class InstalledUnit {
  readonly #machine: Machine

  constructor(machine: Machine) {
    this.#machine = machine
  }

  mainPid(): string {
    return this.#machine.shell('systemctl show --property=MainPID --value understudy').trim()
  }

  isReady(): boolean {
    return this.#machine.run(['curl', '-sf', 'http://127.0.0.1:8081/readyz']).status === 0
  }

  /** Since the current start of the unit. */
  journal(): string {
    return this.#machine.shell(
      'journalctl -u understudy -o cat _SYSTEMD_INVOCATION_ID="$(systemctl show --property=InvocationID --value understudy)"',
    )
  }

  async restart(): Promise<void> {
    this.#machine.shell('systemctl restart understudy')
    await this.until('the unit is ready', () => this.isReady())
  }

  /** Resolves when this many more cycles are stored. */
  async cyclesStored(count: number): Promise<void> {
    const scored = (): number => this.journal().split('"cycle scored"').length - 1
    const until = scored() + count
    await this.until(`${count} cycles are stored`, () => scored() >= until)
  }

  call(path: string, { key = this.#key(), body = '' } = {}): Called {
    const send = body === '' ? [] : ['-H', 'Content-Type: application/json', '--data-binary', '@-']
    const command = ['curl', '-s', '-w', '\n%{http_code}', '-H', `Authorization: ${key}`, ...send]
    const { text } = this.#machine.run([...command, `http://127.0.0.1:8080${path}`], body)
    const end = text.lastIndexOf('\n')
    return { status: Number(text.slice(end + 1)), body: text.slice(0, end) }
  }

  postCycle(index: number): Called {
    const atMs = cycleMs(index)
    const parts = { candidates: [candidate('g', index + 1)], engagement: [reading('g', index + 1, atMs)] }
    return this.call('/v1/cycles', { body: JSON.stringify(cycleBody(index, parts)) })
  }

  lastCycleId(): string {
    return (JSON.parse(this.call('/v1/health').body) as { last_cycle_id: string }).last_cycle_id
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const end = performance.now() + waitMsMax
    while (!holds()) {
      if (performance.now() > end)
        throw new Error(`after three minutes: not ${what}; ${this.journal().slice(-2000)}`)
      await delay(100)
    }
  }

  #key(): string {
    return this.#machine.shell('head -n 1 /etc/understudy/api-keys').trim()
  }
}
