/**
 * The processes that the service starts, as the system sees them: they have no descriptor of the database, no secret in their
 * environment, and no signal opens a debugger in them.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { childrenOf } from '../harness/proc.js'
import { send } from '../harness/http.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { modelsDir as shippedDir } from '../helpers/model-packages.js'
import { freePort, type ServerProcess } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

const adminToken = 'token-for-the-tests-0123456789'

/** What the system says of a process; null when it has ended. */
interface Facts {
  readonly command: readonly string[]
  readonly environment: string
  /** Where each descriptor leads, and its flags as the system writes them, octal. */
  readonly descriptors: readonly { readonly target: string; readonly flags: string }[]
}

function factsOf(pid: number): Facts | null {
  try {
    const of = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')
    // Before the descriptors: until a child runs its program, it has those of its parent.
    const command = of('cmdline').split('\0')
    const descriptors = readdirSync(`/proc/${pid}/fd`).map((number) => ({
      target: readlinkSync(`/proc/${pid}/fd/${number}`),
      flags: /^flags:\s+(\d+)$/m.exec(of(`fdinfo/${number}`))?.[1] ?? '',
    }))
    return { command, environment: of('environ'), descriptors }
  } catch {
    return null
  }
}

/** Inodes of the sockets on which any process listens. */
function listeningSockets(): Set<string> {
  const rows = ['tcp', 'tcp6'].flatMap((name) =>
    readFileSync(`/proc/net/${name}`, 'utf8').split('\n').slice(1),
  )
  const fields = rows.map((row) => row.trim().split(/\s+/))
  return new Set(fields.filter((row) => row[3] === '0A').map((row) => `socket:[${row[9]}]`))
}

/** What has the same name in every process of Node, or is the file of payloads, which both processes of a pair have. */
function isOfAnyProcess(target: string): boolean {
  return /^anon_inode:|^\/dev\/null$|\/understudy-[0-9a-f-]{36}/.test(target)
}

describe.runIf(process.platform === 'linux')('a process that the service starts', () => {
  let modelsDir: string
  let adminPort: number
  let server: ServerProcess

  beforeEach(async () => {
    modelsDir = join(scratchDir(), 'models')
    mkdirSync(modelsDir)
    for (const version of ['transport-test-1', 'example-1'])
      cpSync(join(shippedDir, version), join(modelsDir, version), { recursive: true })
    writeFileSync(join(modelsDir, 'ACTIVE'), 'transport-test-1\n')
    adminPort = await freePort()
    server = await started({
      UNDERSTUDY_MODELS_DIR: modelsDir,
      UNDERSTUDY_ADMIN_PORT: String(adminPort),
      UNDERSTUDY_ADMIN_TOKEN: adminToken,
      PGPASSWORD: 'password-for-the-tests',
    })
  })

  /** Activates a model with encoders. Returns the facts of every process that was there at any time until it serves. */
  async function seenDuringSwap(): Promise<Map<number, Facts>> {
    const seen = new Map<number, Facts>()
    writeFileSync(join(modelsDir, 'ACTIVE'), 'example-1\n')
    await expect
      .poll(
        () => {
          for (const { pid } of childrenOf(server.pid!)) {
            const facts = factsOf(pid)
            // Before its program begins, a child is a copy of the service.
            if (facts?.command.some((word) => word.endsWith('child.js'))) seen.set(pid, facts)
          }
          return (
            server.log.includes('"model_version":"example-1"') &&
            /now serving[^\n]*example-1|example-1[^\n]*now serving/.test(server.log)
          )
        },
        { timeout: 60_000, interval: 2 },
      )
      .toBe(true)
    return seen
  }

  test('shares nothing with it but the file of payloads, and has no secret', async () => {
    const seen = await seenDuringSwap()
    // The heads of the version before, the heads and two encoders of the new one.
    expect(seen.size).toBeGreaterThanOrEqual(4)
    const shared = new Set(factsOf(server.pid!)?.descriptors.map(({ target }) => target))
    for (const { descriptors, environment, command } of seen.values()) {
      const common = descriptors.filter(({ target }) => shared.has(target) && !isOfAnyProcess(target))
      expect(common).toEqual([])
      expect(descriptors.filter(({ target }) => target.startsWith(server.dataDir))).toEqual([])
      expect(descriptors.filter(({ target }) => target.startsWith('/') && !isOfAnyProcess(target))).toEqual(
        [],
      )
      for (const secret of [server.key, adminToken, 'password-for-the-tests'])
        expect(environment).not.toContain(secret)
      expect(command).toContain('--disable-sigusr1')
    }
  })

  test('and the service itself open no debugger on SIGUSR1, and continue', async () => {
    await seenDuringSwap()
    // The processes of the model that served before have ended.
    await expect.poll(() => childrenOf(server.pid!).length, { timeout: 20_000 }).toBe(3)
    const pids = [server.pid!, ...childrenOf(server.pid!).map(({ pid }) => pid)]
    const portsOf = (pid: number): string[] => {
      const listening = listeningSockets()
      return factsOf(pid)?.descriptors.flatMap(({ target }) => (listening.has(target) ? [target] : [])) ?? []
    }
    // /proc/net/tcp may leave out a socket while others are opened and closed.
    let before: string[][] = []
    await expect.poll(() => (before = pids.map(portsOf)).map(({ length }) => length)).toEqual([2, 0, 0, 0])
    for (const pid of pids) process.kill(pid, 'SIGUSR1')
    for (const index of [0, 1, 2]) {
      const posts = index === 0 ? [candidate('g', 1)] : []
      const body = cycleBody(index, { candidates: posts, engagement: [reading('g', 1, cycleMs(index))] })
      expect((await server.postCycle(body)).status).toBe(200)
    }
    expect([server.pid, ...childrenOf(server.pid!).map(({ pid }) => pid)]).toEqual(pids)
    await expect.poll(() => pids.map(portsOf)).toEqual(before)
    expect(server.log).not.toContain('Debugger listening')
  })

  test('as a command of the admin side can read the database and not write it, and has no secret', async () => {
    const body = cycleBody(0, { candidates: [candidate('g', 1)], engagement: [reading('g', 1, cycleMs(0))] })
    expect((await server.postCycle(body)).status).toBe(200)
    const headers = { authorization: `Bearer ${adminToken}` }
    // 202: the command takes longer than a request may wait.
    const finished = async () => {
      let reply = await send({ port: adminPort, path: '/api/report', headers })
      while (reply.status === 202) reply = await send({ port: adminPort, path: '/api/report', headers })
      return reply
    }
    const reply = finished()
    const seen: Facts[] = []
    const settled = reply.then(() => true)
    while (!(await Promise.race([settled, new Promise((resolve) => setImmediate(resolve, false))])))
      for (const { pid } of childrenOf(server.pid!)) {
        const facts = factsOf(pid)
        if (facts?.command.includes('report')) seen.push(facts)
      }
    expect((await reply).status).toBe(200)
    expect(seen.length).toBeGreaterThan(0)
    for (const { descriptors, environment, command } of seen) {
      const database = descriptors.filter(({ target }) => target.endsWith('understudy.mdb'))
      expect(
        database.map(({ flags }) => Number.parseInt(flags, 8) & 3).filter((access) => access !== 0),
      ).toEqual([])
      expect(descriptors.filter(({ target }) => target.endsWith('understudy.lock'))).toEqual([])
      for (const secret of [server.key, adminToken, 'password-for-the-tests'])
        expect(environment).not.toContain(secret)
      expect(command).toContain('--disable-sigusr1')
    }
  })
})
