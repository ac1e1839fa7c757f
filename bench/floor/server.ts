/**
 * The floor as a server, for the duel: it takes a cycle, walks over it, runs the bare session, writes and flushes as much
 * as must be kept, and sends an answer as long as ours. Nothing else: no pool, no features, no weights, no encoding, no
 * compression. What it reaches in the duel, no server passes that does one after the other.
 * Started by `serve.sh`.
 */
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { App, type HttpResponse } from 'uWebSockets.js'
import { jsonBodyBytesMax } from '../../src/contract/limits.js'
import { BareSession } from './bare-session.js'
import { KeptFile } from './kept-file.js'
import { loadWalk } from './walk.js'

/** As the service (`priorityLead`). */
const priority = -5
/** Of a body, what is left of it under zstd: a thirteenth in the duel. */
const compression = 13
/** As long as a row of our answers in the duel. */
const row = Buffer.from(`${'{'.padEnd(212)}},`)
const rowsMax = 20_000
const padding = 64

const walk = loadWalk()
const session = await BareSession.open()
const file = new KeptFile(join(process.env.DATA_DIR ?? '.', 'floor.bin'))
const body = Buffer.alloc(jsonBodyBytesMax + padding)
const rows = Buffer.alloc(rowsMax * row.length, row)
let lastAnswer: Uint8Array = Buffer.alloc(0)

try {
  setPriority(priority)
} catch {
  // Not allowed to go ahead of others.
}

App()
  .post('/v1/cycles', (response) => {
    let length = 0
    let open = true
    response.onAborted(() => (open = false))
    response.onData((chunk, isLast) => {
      body.set(new Uint8Array(chunk), length)
      length += chunk.byteLength
      if (isLast) void answer(length).then((bytes) => open && send(response, bytes))
    })
  })
  .get('/v1/scores/*', (response) => send(response, lastAnswer))
  .get('/v1/health', (response) => void response.end('{}'))
  .listen('127.0.0.1', Number(process.env.PORT), (socket) => {
    if (socket === false) throw new Error('the floor cannot listen')
  })

async function answer(bodyBytes: number): Promise<Uint8Array> {
  const rowCount = walk(body, bodyBytes)
  await session.run(rowCount)
  const bytes = answerOf(rowCount)
  file.write([body.subarray(0, bodyBytes / compression), bytes])
  lastAnswer = bytes
  return bytes
}

/** Rows are the same from one cycle to the next, so that they are copied once, as by an encoder without work. */
function answerOf(rowCount: number): Buffer {
  const head = `{"counts":{"scored_now":${rowCount}},"results":[`
  const rowBytes = rowCount * row.length - 1
  const bytes = Buffer.allocUnsafe(head.length + Math.max(rowBytes, 0) + 2)
  bytes.write(head, 'latin1')
  if (rowBytes > 0) rows.copy(bytes, head.length, 0, rowBytes)
  bytes.write(']}', bytes.length - 2, 'latin1')
  return bytes
}

function send(response: HttpResponse, bytes: Uint8Array): void {
  response.cork(() => void response.end(bytes))
}
