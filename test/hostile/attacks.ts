/**
 * Runs all attacks, one after the other, on one server while another client requests health. Returns violations and figures.
 */
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import {
  abortedUploads,
  withIdleConnections,
  endlessBodies,
  pipelined,
  slowConnections,
  unreadResponses,
} from './connections.js'
import {
  callViolations,
  galleryViolations,
  headFloodViolations,
  hostileBodies,
  type HostileCall,
} from './contents.js'
import { ambiguousShapes, servedAfter } from './framing.js'
import { deceptiveImages, segmentedImages, type DeceptiveImage } from './images.js'
import type { LoopDelay } from '../harness/loop-delay.js'
import { ServerProcess } from '../harness/server.js'
import { watchHealth, type HealthFigures } from './watch-health.js'

export interface AttackOptions {
  /** Slow connections. */
  readonly slow: number
  /** Seconds for which the server may hold them. */
  readonly slowSecondsMax: number
  readonly aborted: number
  readonly endless: number
  readonly pipelines: number
  readonly pipelined: number
  readonly wrongKeys: number
  /** Each attack is repeated for this long, so that there are enough health requests to measure. */
  readonly secondsMin: number
  /** Sends bodies of the maximum size. */
  readonly heavy: boolean
  /** Names of the attacks; absent: all of them. */
  readonly only?: readonly string[]
}

export interface AttackResult {
  readonly violations: readonly string[]
  readonly figures: readonly string[]
  readonly health: ReadonlyMap<string, HealthFigures>
}

/** Memory that an attack may add: both limits for bodies, and 512 MiB for processing. */
export const rssGrowthMibMax = 256 + 256 + 512
/** CPU time of one turn of the event loop while images arrive. Their bytes are read and decoded on other threads. */
const imageWorkMsMax = 500
/** Log, database and model processes open and close files at any time; the thread that reads large bodies has five. */
const descriptorSlack = 3 + 5

/**
 * This process represents attackers on other machines, so it must not compete for the server's cores. Only root can
 * restore the priority of the health client.
 */
function lowerPriority(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return
  for (const thread of readdirSync('/proc/self/task'))
    setPriority(Number(thread), constants.priority.PRIORITY_BELOW_NORMAL)
}

/** Calls `print` after each attack. */
export async function runAttacks(size: AttackOptions, print: (line: string) => void): Promise<AttackResult> {
  const server = await new ServerProcess(
    { UNDERSTUDY_BODY_READ_MS_MAX: '8000' },
    { preloads: ['loopDelay'] },
  ).start()
  const violations: string[] = []
  const figures: string[] = []
  const health = new Map<string, HealthFigures>()
  const attack = async (name: string, run: () => Promise<string>): Promise<LoopDelay | null> => {
    if (size.only?.includes(name) === false) return null
    let figure = ''
    await server.loopDelay() // Starts a new measurement.
    const watched = await watchHealth(server.port, async () => {
      const until = performance.now() + size.secondsMin * 1000
      do figure = await run()
      while (performance.now() < until)
    })
    health.set(name, watched)
    if (watched.failureCount > 0) violations.push(`${name}: health failed ${watched.failureCount} times`)
    const loop = await server.loopDelay()
    const ms = (p99Ms: number, maxMs: number): string =>
      `p99 ${p99Ms.toFixed(1)} ms, max ${maxMs.toFixed(1)} ms`
    const line = [
      `${name}: ${figure}`,
      `health ${ms(watched.p99Ms, watched.maxMs)} of ${watched.count}`,
      `event loop ${ms(loop.p99Ms, loop.maxMs)}`,
      `without waiting for a core ${ms(loop.ownP99Ms, loop.ownMaxMs)}`,
      `at work ${ms(loop.workP99Ms, loop.workMaxMs)}`,
    ].join('; ')
    figures.push(line)
    print(line)
    return loop
  }
  const upload = async (jpegs: readonly DeceptiveImage[]): Promise<string> => {
    const post = ++round
    const calls = jpegs.map(({ name, bytes, allowed }, number): HostileCall => {
      const path = `/v1/images/deceptive-${post}/${number + 1}/01`
      const headers = { 'Content-Type': 'image/jpeg' }
      return { name, allowed, call: { method: 'PUT', path, body: bytes, headers } }
    })
    note(await callViolations(server, calls))
    return `${jpegs.length} images`
  }
  let round = 0
  const note = (found: readonly string[]): void => void violations.push(...found)
  try {
    const pid = server.pid
    const before = server.resources()

    if (size.heavy) lowerPriority()

    await attack('slow heads and bodies', async () => {
      const slow = await slowConnections(server, size.slow, size.slowSecondsMax)
      if (slow.acceptedCount < size.slow)
        note([`slow connections: only ${slow.acceptedCount} of ${size.slow} were accepted`])
      if (slow.cut < size.slow) note([`slow connections: ${size.slow - slow.cut} were never closed`])
      return `${slow.acceptedCount} connections accepted, all ended after ${slow.secondsUntilLast.toFixed(0)} s`
    })
    await attack('aborted uploads', async () => {
      await withIdleConnections(server, 100, () => abortedUploads(server, size.aborted))
      return `${size.aborted} uploads`
    })
    await attack('endless bodies', async () => {
      const responses = await endlessBodies(server, size.endless)
      if (responses.some((status) => status !== 413 && status !== 503))
        note([`endless bodies got ${[...new Set(responses)].join(', ')}`])
      return `${size.endless} bodies, ${responses.length} responses`
    })
    await attack('bodies', async () => {
      const bodies = hostileBodies(size.heavy)
      note(await callViolations(server, bodies))
      return `${bodies.length} kinds in parallel`
    })
    await attack('floods of headers', async () => {
      note(await headFloodViolations(server))
      return '6 kinds'
    })
    await attack('pipelining', async () => {
      const responses = await pipelined(server, size.pipelines, size.pipelined)
      // A connection may be closed instead (docs/contract.md, HTTP).
      if (responses.some((count) => count > size.pipelined))
        note([`pipelined: ${responses.join(', ')} responses`])
      return `${size.pipelines} × ${size.pipelined} requests`
    })
    await attack('smuggling', async () => {
      note((await servedAfter(server, ++round)).map((name) => `served after ${name}`))
      return `${ambiguousShapes.length} shapes`
    })
    await attack('gallery ids', async () => {
      note(await galleryViolations(server, ++round))
      return 'paths and JSON'
    })
    await attack('unread responses', async () => {
      const count = size.heavy ? 200 : 20
      await unreadResponses(server, count)
      return `${count} large responses that are not read`
    })
    await attack('images', async () => upload(await deceptiveImages()))
    const loop = await attack('images of many segments', async () => upload(await segmentedImages()))
    if (loop !== null && loop.workMaxMs > imageWorkMsMax)
      note([`images of many segments: the event loop computed for ${loop.workMaxMs.toFixed(0)} ms`])
    await attack('wrong keys', async () => {
      const guesses = Array.from({ length: size.wrongKeys }, (_, number) =>
        server.call({ path: '/v1/weights', key: `guess-${number}` }).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      const right = await server.call({ path: '/v1/weights' })
      if (right.status !== 200) note([`during wrong keys the valid key got ${right.status}`])
      const responses = await Promise.all(guesses)
      if (responses.some((status) => status !== 401)) note(['a wrong key did not get 401'])
      return `${size.wrongKeys} guesses`
    })

    const peak = server.resources()
    const fell = await server.waitForDescriptors(before.descriptors + descriptorSlack)
    const after = server.resources()
    if (!fell) note([`descriptors: ${before.descriptors} before, ${after.descriptors} after`])
    if (peak.rssPeakMib > before.rssMib + rssGrowthMibMax)
      note([`memory: ${before.rssMib.toFixed(0)} MiB before, at most ${peak.rssPeakMib.toFixed(0)}`])
    if (server.pid !== pid || pid === undefined) note(['the server process was replaced'])
    if (/"status":500|"level":50/.test(server.log))
      note([`the log has an error: ${/.*("status":500|"level":50).*/.exec(server.log)?.[0] ?? ''}`])
    const line = `descriptors ${before.descriptors} before, ${after.descriptors} after; memory ${before.rssMib.toFixed(0)} MiB before, ${after.rssMib.toFixed(0)} after, ${after.privateMib.toFixed(0)} of it without pages of files, ${peak.rssPeakMib.toFixed(0)} at most`
    figures.push(line)
    print(line)
    if ((await server.kill('SIGTERM')) !== 0) note(['the server exited with an error'])
  } finally {
    await server.dispose()
  }
  return { violations, figures, health }
}
