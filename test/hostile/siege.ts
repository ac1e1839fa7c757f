/**
 * All attacks, one after the other, on one server, while another client asks for health: what was breached, and figures.
 */
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import {
  abortedUploads,
  besideIdle,
  endlessBodies,
  pipelined,
  slowConnections,
  unreadResponses,
} from './connections.js'
import {
  callBreaches,
  galleryBreaches,
  headFloodBreaches,
  hostileBodies,
  type HostileCall,
} from './contents.js'
import { ambiguousShapes, servedBehind } from './framing.js'
import { lyingPictures } from './pictures.js'
import { Target } from './target.js'
import { watchHealth, type HealthFigures } from './watch.js'

export interface SiegeSize {
  /** Slow connections. */
  readonly slow: number
  /** Seconds for which the server may hold them. */
  readonly slowSecondsMax: number
  readonly aborted: number
  readonly endless: number
  readonly pipelines: number
  readonly pipelined: number
  readonly wrongKeys: number
  /** Each attack is repeated for so long, to have enough answers of health beside it. */
  readonly secondsMin: number
  /** Bodies as large as they may be. */
  readonly heavy: boolean
  /** Names of the attacks; absent: all of them. */
  readonly only?: readonly string[]
}

export interface SiegeResult {
  readonly breaches: readonly string[]
  readonly figures: readonly string[]
  readonly health: ReadonlyMap<string, HealthFigures>
}

/** Memory that an attack may take beyond what the server has at its start: both budgets, and room to work in. */
export const rssGrowthMibMax = 256 + 256 + 512
/** Log, database and model processes open and close files now and then; the thread that reads large bodies has five. */
const descriptorSlack = 3 + 5

/**
 * The attackers, which are this process, stand for other machines: here they must not take the server's cores. Root alone
 * may give the watch of health its priority back.
 */
function putBehind(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return
  for (const thread of readdirSync('/proc/self/task'))
    setPriority(Number(thread), constants.priority.PRIORITY_BELOW_NORMAL)
}

/** `print` hears of each attack when it has ended. */
export async function besiege(size: SiegeSize, print: (line: string) => void): Promise<SiegeResult> {
  const target = await new Target({
    UNDERSTUDY_BODY_READ_MS_MAX: '8000',
  }).start()
  const breaches: string[] = []
  const figures: string[] = []
  const health = new Map<string, HealthFigures>()
  const attack = async (name: string, run: () => Promise<string>): Promise<void> => {
    if (size.only?.includes(name) === false) return
    let figure = ''
    await target.loopDelay() // From here on.
    const watched = await watchHealth(target.port, async () => {
      const until = performance.now() + size.secondsMin * 1000
      do figure = await run()
      while (performance.now() < until)
    })
    health.set(name, watched)
    if (watched.failureCount > 0) breaches.push(`${name}: health failed ${watched.failureCount} times`)
    const loop = await target.loopDelay()
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
  }
  let round = 0
  const note = (found: readonly string[]): void => void breaches.push(...found)
  try {
    const pid = target.server.pid
    const before = target.held()

    if (size.heavy) putBehind()

    await attack('slow heads and bodies', async () => {
      const slow = await slowConnections(target, size.slow, size.slowSecondsMax)
      if (slow.held < size.slow) note([`slow connections: only ${slow.held} of ${size.slow} were taken`])
      if (slow.cut < size.slow) note([`slow connections: ${size.slow - slow.cut} were never ended`])
      return `${slow.held} connections held, all ended after ${slow.secondsUntilLast.toFixed(0)} s`
    })
    await attack('aborted uploads', async () => {
      await besideIdle(target, 100, () => abortedUploads(target, size.aborted))
      return `${size.aborted} uploads`
    })
    await attack('endless bodies', async () => {
      const answers = await endlessBodies(target, size.endless)
      if (answers.some((status) => status !== 413 && status !== 503))
        note([`endless bodies were answered ${[...new Set(answers)].join(', ')}`])
      return `${size.endless} bodies, ${answers.length} answered`
    })
    await attack('bodies', async () => {
      const bodies = hostileBodies(size.heavy)
      note(await callBreaches(target, bodies))
      return `${bodies.length} kinds side by side`
    })
    await attack('floods of headers', async () => {
      note(await headFloodBreaches(target))
      return '6 kinds'
    })
    await attack('pipelining', async () => {
      const answers = await pipelined(target, size.pipelines, size.pipelined)
      // A connection may be closed instead (decisions.md 41).
      if (answers.some((count) => count > size.pipelined))
        note([`pipelined: ${answers.join(', ')} responses`])
      return `${size.pipelines} × ${size.pipelined} requests`
    })
    await attack('smuggling', async () => {
      note((await servedBehind(target, ++round)).map((name) => `served behind ${name}`))
      return `${ambiguousShapes.length} shapes`
    })
    await attack('gallery ids', async () => {
      note(await galleryBreaches(target, ++round))
      return 'paths and JSON'
    })
    await attack('unread responses', async () => {
      const count = size.heavy ? 200 : 20
      await unreadResponses(target, count)
      return `${count} large responses that are not read`
    })
    await attack('pictures', async () => {
      const pictures = await lyingPictures()
      const post = ++round
      const calls = pictures.map(({ name, bytes, allowed }, number): HostileCall => {
        const headers = { 'Content-Type': 'image/jpeg' }
        const call = { method: 'PUT', path: `/v1/images/lies-${post}/${number + 1}/01`, body: bytes, headers }
        return { name, allowed, call }
      })
      note(await callBreaches(target, calls))
      return `${pictures.length} that lie or are something else too`
    })
    await attack('wrong keys', async () => {
      const guesses = Array.from({ length: size.wrongKeys }, (_, number) =>
        target.server.call({ path: '/v1/weights', key: `guess-${number}` }).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      const right = await target.server.call({ path: '/v1/weights' })
      if (right.status !== 200) note([`beside wrong keys the right one got ${right.status}`])
      const answers = await Promise.all(guesses)
      if (answers.some((status) => status !== 401)) note(['a wrong key was not answered 401'])
      return `${size.wrongKeys} guesses`
    })

    const peak = target.held()
    const fell = await target.descriptorsFallTo(before.descriptors + descriptorSlack)
    const after = target.held()
    if (!fell) note([`descriptors: ${before.descriptors} before, ${after.descriptors} after`])
    if (peak.rssPeakMib > before.rssMib + rssGrowthMibMax)
      note([`memory: ${before.rssMib.toFixed(0)} MiB before, at most ${peak.rssPeakMib.toFixed(0)}`])
    if (target.server.pid !== pid || pid === undefined) note(['the process is another one'])
    if (/"status":500|"level":50/.test(target.server.log))
      note([`the log has an error: ${/.*("status":500|"level":50).*/.exec(target.server.log)?.[0] ?? ''}`])
    const line = `descriptors ${before.descriptors} before, ${after.descriptors} after; memory ${before.rssMib.toFixed(0)} MiB before, ${after.rssMib.toFixed(0)} after, ${after.ownMib.toFixed(0)} of it without pages of files, ${peak.rssPeakMib.toFixed(0)} at most`
    figures.push(line)
    print(line)
    if ((await target.server.kill('SIGTERM')) !== 0) note(['the server did not end well'])
  } finally {
    await target.dispose()
  }
  return { breaches, figures, health }
}
