/**
 * `npm run test:overload`: three times the cycles and pictures that the server can take. Queues stay bounded, what is too
 * much hears 503 early and truthfully, goodput holds, and a second later all is as before. Prints figures; ends with 1
 * where one of these is broken.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { availableParallelism } from 'node:os'
import { cycleBoundaryMs, cycleIdOf, formatInstant } from '../../src/contract/time.js'
import { pictureSource } from '../../bench/pictures.js'
import { worldCycles, rampCycleCount } from '../../bench/world.js'
import { Target } from './target.js'

const seconds = 8
const factor = 3
const goodputMin = 0.8
/** Cycles are numbered on from here: after those that brought the posts in, and long past. */
const firstCycleMs = Date.UTC(2025, 2, 10)

interface Answer {
  readonly status: number
  readonly tookMs: number
  readonly retryAfterS: number | null
}

interface Offer {
  readonly answers: readonly Answer[]
  readonly tookS: number
  /** Taken and answered while the load lasted. */
  readonly goodInTime: number
}

type Send = (number: number) => Promise<Answer>

const breaches: string[] = []
const print = (line: string): void => console.log(line)
const target = await new Target({ UNDERSTUDY_LOG_LEVEL: 'info' }).start()
const agent = new http.Agent({ keepAlive: true, maxSockets: 512 })
pin(target.server.pid ?? 0)
try {
  await overload('cycles', await cycleSender())
  await overload('pictures', await pictureSender())
} finally {
  agent.destroy()
  await target.dispose()
}
for (const breach of breaches) print(`BREACH ${breach}`)
print(breaches.length === 0 ? 'no breach' : `${breaches.length} breaches`)
process.exitCode = breaches.length === 0 ? 0 : 1

/** Server and client on cores of their own: else three times the load takes from the server what the client needs. */
function pin(server: number): void {
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ')
  const [first, last] = ['0', String(availableParallelism() - 1)]
  const places = [server, ...children.filter((pid) => pid !== '')].map((pid) => [String(pid), first] as const)
  for (const [pid, core] of [...places, [String(process.pid), last] as const]) {
    const { status } = spawnSync('taskset', ['-a', '-c', '-p', core, pid])
    if (status !== 0) print(`! not pinned to a core: ${pid}; client and server share them`)
  }
}

async function overload(name: string, send: Send): Promise<void> {
  let next = 0
  const one = (): Promise<Answer> => send(next++)
  // What it can take: two clients, each sending as soon as it is answered.
  await closedLoop(2, 2, one)
  const peak = await closedLoop(4, 4, one)
  const peakRate = peak.answers.length / peak.tookS
  const before = target.held()
  const calm = median(peak.answers.map(({ tookMs }) => tookMs))
  let recovered = 0
  const offer = await openLoop(peakRate * factor, seconds, one, async () => {
    recovered = await recovery(one, calm)
  })
  const after = target.held()
  const good = offer.answers.filter(({ status }) => status < 300)
  const refused = offer.answers.filter(({ status }) => status === 503)
  const other = offer.answers.length - good.length - refused.length
  const goodput = offer.goodInTime / offer.tookS
  print(
    `${name}: peak ${peakRate.toFixed(0)}/s, offered ${(peakRate * factor).toFixed(0)}/s for ${seconds} s: goodput ${goodput.toFixed(0)}/s (${((100 * goodput) / peakRate).toFixed(0)} %), ` +
      `taken after p50 ${quantile(good, 0.5)} p99 ${quantile(good, 0.99)} ms; ${refused.length} refused after p50 ${quantile(refused, 0.5)} p99 ${quantile(refused, 0.99)} ms; ` +
      `recovered after ${recovered.toFixed(0)} ms; memory ${before.rssMib.toFixed(0)} MiB before, ${after.rssMib.toFixed(0)} after`,
  )
  if (goodput < peakRate * goodputMin)
    breaches.push(`${name}: goodput ${goodput.toFixed(0)}/s of ${peakRate.toFixed(0)}/s`)
  if (other > 0) breaches.push(`${name}: ${other} answers neither good nor 503`)
  if (refused.length === 0) breaches.push(`${name}: nothing was refused`)
  if (refused.some(({ retryAfterS }) => retryAfterS === null))
    breaches.push(`${name}: a 503 without Retry-After`)
  if (recovered > 1000) breaches.push(`${name}: recovered after ${recovered.toFixed(0)} ms`)
}

/** Milliseconds from the end of the load until a call is taken in about its usual time. */
async function recovery(one: () => Promise<Answer>, calmMs: number): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const { status, tookMs } = await one()
    const sinceMs = performance.now() - startedAt
    if ((status < 300 && tookMs < calmMs * 3 + 20) || sinceMs > 60_000) return sinceMs
    if (status === 503) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function closedLoop(clients: number, forSeconds: number, one: () => Promise<Answer>): Promise<Offer> {
  const answers: Answer[] = []
  const startedAt = performance.now()
  const client = async (): Promise<void> => {
    while (performance.now() - startedAt < forSeconds * 1000) {
      const answer = await one()
      if (answer.status < 300) answers.push(answer)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const tookS = (performance.now() - startedAt) / 1000
  return { answers, tookS, goodInTime: answers.length }
}

/** Calls at even distances, whether or not earlier ones are answered; `atEnd` runs when the last has been sent. */
async function openLoop(
  perSecond: number,
  forSeconds: number,
  one: () => Promise<Answer>,
  atEnd: () => Promise<void>,
): Promise<Offer> {
  const answers: Promise<Answer>[] = []
  let goodInTime = 0
  let over = false
  const counted = async (): Promise<Answer> => {
    const answer = await one()
    if (answer.status < 300 && !over) goodInTime++
    return answer
  }
  const startedAt = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsedS = (performance.now() - startedAt) / 1000
      while (answers.length < Math.min(elapsedS, forSeconds) * perSecond) answers.push(counted())
      if (elapsedS < forSeconds) return
      clearInterval(timer)
      resolve()
    }, 2)
  })
  over = true
  const tookS = (performance.now() - startedAt) / 1000
  // What is still waiting is in the way of whoever comes now.
  await atEnd()
  return { answers: await Promise.all(answers), tookS, goodInTime }
}

/** Cycles over the same pending posts, each with an id of its own before a body that all share. */
async function cycleSender(): Promise<Send> {
  const world = worldCycles({ pending: 1000, turnover: 0, snapshots: true, bodyChars: 400 })
  for (let i = 0; i < rampCycleCount; i++) {
    const reply = await call('POST', '/v1/cycles', world.next().value.request, 'application/json')
    if (reply.status !== 200) throw new Error(`a cycle of the ramp was answered ${reply.status}`)
  }
  const text = world.next().value.request.toString()
  const shared = Buffer.from(text.slice(text.indexOf('"candidates"')))
  return (number) => {
    const ms = firstCycleMs + number * cycleBoundaryMs
    const head = `{"cycle_id":"${cycleIdOf(ms)}","cycle_time":"${formatInstant(ms)}",`
    return call('POST', '/v1/cycles', Buffer.concat([Buffer.from(head), shared]), 'application/json')
  }
}

async function pictureSender(): Promise<Send> {
  const picture = await pictureSource()
  return (number) => call('PUT', `/v1/images/overload/${number + 1}/01`, picture(number), 'image/jpeg')
}

function call(method: string, path: string, body: Buffer, type: string): Promise<Answer> {
  return new Promise((resolve) => {
    const startedAt = performance.now()
    const end = (status: number, retryAfter?: string): void =>
      resolve({
        status,
        tookMs: performance.now() - startedAt,
        retryAfterS: retryAfter === undefined ? null : Number(retryAfter),
      })
    const request = http.request(
      {
        ...{ host: '127.0.0.1', port: target.port, method, path, agent },
        headers: { authorization: target.server.key, 'content-type': type, 'content-length': body.length },
      },
      (response) => {
        response.resume()
        response.on('end', () => end(response.statusCode ?? 0, response.headers['retry-after']))
      },
    )
    request.on('error', () => end(0))
    request.end(body)
  })
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

function quantile(answers: readonly Answer[], part: number): string {
  const sorted = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return (sorted[Math.ceil(part * sorted.length) - 1] ?? 0).toFixed(0)
}
