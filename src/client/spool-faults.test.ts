/**
 * The spool under faults: a full disk, and random sequences of lost responses, gateways, refusals, failures of the client's own
 * storage and restarts, after which nothing may be lost, changed or out of order.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { cycleBody, removal } from '../../test/helpers/bodies.js'
import { bodyExamples, type CycleRequest, type CycleResponse } from '../contract/index.js'
import { Client } from './index.js'
import { Spool } from './spool.js'

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-spool-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function cycleOf(index: number): CycleRequest {
  return cycleBody(index, { removals: Array.from({ length: 100 }, (_, row) => removal('g', row + 1)) })
}

/** Needs root, and the right to mount. */
const isMountable =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

test.skipIf(!isMountable)(
  'the cycles of a directory without a schema are there although its disk is full (needs root)',
  async () => {
    const disk = join(scratch(), 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'none', disk])
    onTestFinished(() => void execFileSync('umount', ['-l', disk]))
    const name = `${cycleOf(0).cycle_id}.json`
    writeFileSync(join(disk, name), '{}')
    try {
      writeFileSync(join(disk, 'filler'), Buffer.alloc(64 * 1024))
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' })
    }
    const client = new Client({ url: 'http://localhost', apiKey: 'key' })
    const spool = await Spool.open({ client, directory: disk, onResponse: () => undefined })
    onTestFinished(() => spool.close())
    expect(readdirSync(disk)).toEqual([name, 'filler'])
  },
)

test.skipIf(!isMountable)(
  'a cycle that a full disk cannot take leaves no file, and is added when there is room again (needs root)',
  async () => {
    const disk = join(scratch(), 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', disk])
    onTestFinished(() => void execFileSync('umount', ['-l', disk]))
    const client = new Client({ url: 'http://localhost', apiKey: 'key' })
    const spool = await Spool.open({ client, directory: disk, onResponse: () => undefined })
    onTestFinished(() => spool.close())
    const filler = join(disk, 'filler')
    // One page is free: the write begins, and fails.
    writeFileSync(filler, Buffer.alloc(56 * 1024))
    expect(JSON.stringify(cycleOf(0)).length).toBeGreaterThan(4096)
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(spool.add(cycleOf(0))).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(readdirSync(disk)).toEqual(['filler', 'spool.json'])
    rmSync(filler)
    await spool.add(cycleOf(0))
    expect(readdirSync(disk)).toEqual([`${cycleOf(0).cycle_id}.json`, 'spool.json'])
  },
)

/**
 * What happens to a request. lost: it is processed, and the response does not arrive. A reply that is no response of the
 * service does not mean that it was processed.
 */
type Outcome = 'ok' | 'lost' | 'unread' | { readonly status: number; readonly body: unknown }

const error = (code: string, more: object = {}): object => ({ error: { code, message: 'm', ...more } })
const refusal = { status: 400, body: error('bad_request') }
const faults: readonly Outcome[] = [
  'lost',
  'unread',
  { status: 503, body: error('server_error') },
  { status: 401, body: error('unauthorized') },
  {
    status: 422,
    body: error('unprocessable', { fields: [{ path: 'cycle_time', problem: 'must not be in the future' }] }),
  },
  { status: 422, body: error('invalid') },
  { status: 409, body: error('bad_request') },
  { status: 400, body: '<p>' },
  { status: 200, body: {} },
  { status: 200, body: bodyExamples.CycleResponse },
]

/** A service that responds to each request with the next outcome, and with 200 when there is none. */
class Service {
  readonly outcomes: Outcome[] = []
  /** Cycles in the order in which they were processed first. */
  readonly processed = new Set<string>()
  /** All bodies of each cycle. */
  readonly bodies = new Map<string, Set<string>>()
  readonly #server = http.createServer((request, response) => void this.#serve(request, response))

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = await text(request)
    const { cycle_id: id } = JSON.parse(body) as CycleRequest
    this.bodies.set(id, (this.bodies.get(id) ?? new Set()).add(body))
    const outcome = this.outcomes.shift() ?? 'ok'
    if (outcome === 'ok' || outcome === 'lost') this.processed.add(id)
    if (outcome === 'lost' || outcome === 'unread') request.socket.resetAndDestroy()
    else {
      const { status, body } =
        outcome === 'ok' ? { status: 200, body: { ...bodyExamples.CycleResponse, cycle_id: id } } : outcome
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    }
  }
}

type Step =
  | { readonly kind: 'add' }
  | { readonly kind: 'deliver'; readonly outcomes: readonly Outcome[]; readonly storing: readonly boolean[] }
  | { readonly kind: 'restart' }

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ kind: 'add' }) },
    {
      weight: 4,
      arbitrary: fc.record<Step & { kind: 'deliver' }>({
        kind: fc.constant('deliver'),
        outcomes: fc.array(fc.oneof(fc.constantFrom(...faults), fc.constantFrom<Outcome>('ok', refusal)), {
          maxLength: 4,
        }),
        // Whether the client can store each response.
        storing: fc.array(fc.boolean(), { maxLength: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'restart' }) },
  ),
  { maxLength: 25 },
)

test('whatever fails, each cycle is handled once or is in the spool, with its bytes, and in order', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (run) => {
      const service = new Service()
      const directory = scratch()
      const client = new Client({
        url: await service.listen(),
        apiKey: 'key',
        gzip: false,
        retryTimeoutMs: 0,
      })
      const added: CycleRequest[] = []
      const handled: string[] = []
      let storing: boolean[] = []
      const open = (): Promise<Spool> =>
        Spool.open({
          client,
          directory,
          onResponse: ({ cycle_id }: CycleResponse) => {
            if (storing.shift() === false) throw new Error('the database is down')
            handled.push(cycle_id)
          },
          onRejected: (cycleId) => void handled.push(cycleId),
          futureMsMax: Infinity,
        })
      let spool = await open()
      const check = async (): Promise<void> => {
        const ids = added.map(({ cycle_id }) => cycle_id)
        expect([...handled, ...(await spool.cycleIds())]).toEqual(ids)
      }
      try {
        for (const step of run) {
          if (step.kind === 'add') {
            added.push(cycleOf(added.length))
            await spool.add(added.at(-1)!)
          } else if (step.kind === 'deliver') {
            service.outcomes.splice(0, Infinity, ...step.outcomes)
            storing = [...step.storing]
            await spool.deliver().catch(() => undefined)
          } else {
            await spool.close()
            // A process that ends within `add`.
            writeFileSync(join(directory, `${cycleOf(added.length).cycle_id}.json.partial`), '{"half')
            spool = await open()
          }
          await check()
        }
        service.outcomes.length = 0
        storing = []
        await spool.deliver()
        await check()
        expect(await spool.cycleIds()).toEqual([])
        const order = [...service.processed]
        expect(order).toEqual(order.toSorted())
        for (const cycle of added) {
          const bodies = service.bodies.get(cycle.cycle_id) ?? new Set()
          expect([...bodies]).toEqual([JSON.stringify(cycle)])
        }
      } finally {
        await spool.close()
        service.close()
      }
    }),
    { numRuns: 40 },
  )
})
