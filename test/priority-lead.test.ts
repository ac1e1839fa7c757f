/**
 * Which threads of a real server go ahead of other programs: those that a cycle waits for, as far as the system allows.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { describe, expect, test } from 'vitest'
import { inlineBodyBytesMax } from '../src/codec/read-body.js'
import { cycleBody, candidate } from './helpers/bodies.js'
import type { ServerProcess } from './helpers/server-process.js'
import { started } from './helpers/servers.js'

const lead = 5

interface Thread {
  readonly name: string
  readonly thread: number
  readonly priority: number
}

function threadsOf(pid: number): Thread[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
    return { name, thread: Number(thread), priority: Number(fields[16]) }
  })
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

/** CAP_SYS_NICE, or a limit that goes as far. */
function mayRise(): boolean {
  const priority = getPriority()
  try {
    setPriority(0, priority - lead)
    setPriority(0, priority)
    return true
  } catch {
    return false
  }
}

async function withOneCycle(env: Record<string, string>): Promise<{ server: ServerProcess; pid: number }> {
  const server = await started(env)
  const { status } = await server.postCycle(cycleBody(0, { candidates: [candidate('g', 1)] }))
  expect(status).toBe(200)
  return { server, pid: server.pid! }
}

describe.runIf(process.platform === 'linux')('the lead of the service', () => {
  test.runIf(mayRise())(
    'is taken by the event loop and the process of the model, not by the pool that decodes pictures',
    async () => {
      const { server, pid } = await withOneCycle({ UNDERSTUDY_PRIORITY_LEAD: String(lead) })
      const own = threadsOf(pid)
      expect(own.find(({ thread }) => thread === pid)?.priority).toBe(getPriority() - lead)
      const pool = own.filter(({ name }) => name === 'libuv-worker')
      expect(pool.length).toBeGreaterThan(0)
      for (const { priority } of pool) expect(priority).toBe(getPriority())
      const model = childrenOf(pid).flatMap(threadsOf)
      expect(model.length).toBeGreaterThan(0)
      for (const { priority } of model) expect(priority).toBe(getPriority() - lead)
      await server.logged(`"priority":${getPriority() - lead}`)
    },
  )

  test.each([
    ['with a lead', String(lead)],
    ['without one', '0'],
  ])(
    'is no reason to read a large cycle that is right behind other programs, %s',
    async (_, priorityLead) => {
      const { server, pid } = await withOneCycle({ UNDERSTUDY_PRIORITY_LEAD: priorityLead })
      const before = new Set(threadsOf(pid).map(({ thread }) => thread))
      // Half of a character: the reference codec reads it.
      const odd = Array.from({ length: 500 }, (__, index) => candidate('g', index + 2, { title: '\ud83d' }))
      const body = JSON.stringify(cycleBody(1, { candidates: odd }))
      expect(Buffer.byteLength(body)).toBeGreaterThan(inlineBodyBytesMax)
      expect((await server.call({ method: 'POST', path: '/v1/cycles', body })).status).toBe(200)
      const started = threadsOf(pid).filter(({ thread }) => !before.has(thread))
      expect(started.length).toBeGreaterThan(0)
      const eventLoop = threadsOf(pid).find(({ thread }) => thread === pid)!.priority
      expect(Math.max(...started.map(({ priority }) => priority))).toBe(Math.max(eventLoop + 1, 0))
    },
  )

  test('of 0 leaves every thread as it was started', async () => {
    const { pid } = await withOneCycle({ UNDERSTUDY_PRIORITY_LEAD: '0' })
    for (const { name, priority } of [pid, ...childrenOf(pid)].flatMap(threadsOf))
      expect(priority, name).toBe(getPriority())
  })
})
