/**
 * Clients that occupy resources: heads and bodies sent byte by byte, uploads that break off, bodies without end,
 * and more requests at the same time than the server processes.
 */
import type { Socket } from 'node:net'
import { cycleIdOf, formatInstant } from '../../src/contract/time.js'
import { head, open, sendRaw, statuses } from '../harness/http.js'
import type { ServerProcess } from '../harness/server.js'

/** Between two bytes of a slow client. */
const byteIntervalMs = 400

export interface SlowFigures {
  /** Connections that the server accepted. */
  readonly acceptedCount: number
  /** Of these, ended by the server. */
  readonly cut: number
  readonly secondsUntilLast: number
}

/** Half of the connections send a head byte by byte, half a body, until the server has closed all of them. */
export async function slowConnections(
  server: ServerProcess,
  count: number,
  secondsMax: number,
): Promise<SlowFigures> {
  const startedAt = performance.now()
  const before = server.resources().descriptors
  let cut = 0
  const sockets = Array.from({ length: count }, (_, index) => {
    const socket = open(server)
    socket.once('close', () => cut++)
    const bodyHead = head(server, 'POST /v1/cycles', 'Content-Length: 1000000')
    socket.write(index % 2 === 0 ? 'GET /v1/weights HTTP/1.1\r\nX-Slow: ' : bodyHead)
    return socket
  })
  let acceptedCount = 0
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      acceptedCount = Math.max(acceptedCount, server.resources().descriptors - before)
      for (const socket of sockets) if (!socket.destroyed) socket.write('x')
      if (cut < count && performance.now() - startedAt < secondsMax * 1000) return
      clearInterval(timer)
      resolve()
    }, byteIntervalMs)
  })
  const secondsUntilLast = (performance.now() - startedAt) / 1000
  const cutByServer = cut
  for (const socket of sockets) socket.destroy()
  return { acceptedCount, cut: cutByServer, secondsUntilLast }
}

/** Uploads of images and cycles that break off in the middle, a few at a time. */
export async function abortedUploads(server: ServerProcess, count: number): Promise<void> {
  const piece = Buffer.alloc(48 * 1024, 0xff)
  const abort = (number: number): Promise<void> =>
    new Promise((resolve) => {
      const socket = open(server)
      const line = number % 2 === 0 ? 'POST /v1/cycles' : `PUT /v1/images/aborted/${number}/01`
      const type = number % 2 === 0 ? 'application/json' : 'image/jpeg'
      socket.once('close', () => resolve())
      socket.write(head(server, line, `Content-Type: ${type}`, 'Content-Length: 4000000'))
      socket.write(piece, () => (number % 3 === 0 ? socket.resetAndDestroy() : socket.destroy()))
    })
  for (let sent = 0; sent < count; sent += 16)
    await Promise.all(Array.from({ length: Math.min(16, count - sent) }, (_, index) => abort(sent + index)))
}

/** Chunks without end: resolves with the statuses of the responses when the server has closed every connection. */
export async function endlessBodies(server: ServerProcess, count: number): Promise<number[]> {
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, ' '), Buffer.from('\r\n')])
  const endless = (path: string): Promise<number[]> =>
    new Promise((resolve) => {
      const socket = open(server)
      let received = ''
      const sendMore = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      }
      const end = (): void => {
        clearTimeout(timer)
        socket.destroy()
        resolve(statuses(received))
      }
      const timer = setTimeout(end, 60_000)
      socket.on('drain', sendMore)
      socket.on('data', (data: Buffer) => {
        received += data.toString('latin1')
        end()
      })
      socket.on('close', end)
      socket.write(head(server, path, 'Content-Type: image/jpeg', 'Transfer-Encoding: chunked'))
      sendMore()
    })
  const paths = ['PUT /v1/images/endless/1/01', 'PUT /v1/images/endless/2/01']
  const all = await Promise.all(Array.from({ length: count }, (_, index) => endless(paths[index % 2] ?? '')))
  return all.flat()
}

/** Requests sent in advance, on several connections; resolves with the number of responses on each. */
export async function pipelined(
  server: ServerProcess,
  connections: number,
  requests: number,
): Promise<number[]> {
  const bytes = head(server, 'GET /v1/health').repeat(requests)
  const answers = (received: string): number => received.split('HTTP/1.1 200 ').length - 1
  const all = await Promise.all(
    Array.from({ length: connections }, () =>
      sendRaw(server, bytes, { done: (received) => received.endsWith('}') && answers(received) >= requests }),
    ),
  )
  return all.map(answers)
}

/** Requests a response of about 8 MB on several connections and does not read it. */
export async function unreadResponses(server: ServerProcess, count: number): Promise<void> {
  // Earlier than the cycles of all other attacks, so a late cycle does not change them.
  const ms = Date.UTC(2024, 1, 1, 15)
  const at = formatInstant(ms - 20_000)
  const rows = Array.from({ length: 2500 }, (_, index) => ({
    gall_id: '긴'.repeat(1000),
    post_no: index + 1,
    observed_at: at,
    status: 'ok',
    views: 1,
    up: 1,
    down: 1,
    comment_cnt: 1,
    rtb_vote: null,
  }))
  const none = { candidates: [], candidate_scores: [], removals: [] }
  const cycle = { cycle_id: cycleIdOf(ms), cycle_time: formatInstant(ms), engagement: rows, ...none }
  const stored = await server.postCycle(cycle)
  if (stored.status !== 200) throw new Error(`the large cycle got ${stored.status}`)
  const sockets = Array.from({ length: count }, () => {
    const socket = open(server)
    socket.write(head(server, `GET /v1/scores/${cycle.cycle_id}`))
    return socket
  })
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('readable', resolve))))
  for (const socket of sockets) socket.destroy()
}

/** Connections that are opened and left, for as long as `during` takes. */
export async function withIdleConnections(
  server: ServerProcess,
  count: number,
  during: () => Promise<void>,
): Promise<void> {
  const sockets: Socket[] = Array.from({ length: count }, () => open(server))
  try {
    await during()
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}
