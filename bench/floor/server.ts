/**
 * The floor as a server, for the duel. For each cycle it walks the body, runs the bare session, writes and flushes as many
 * bytes as the service stores, and sends a response of the same size. It has no pool, features, weights, encoding or
 * compression. A server that does these steps one after the other cannot be faster.
 * Started by `serve.sh`.
 */
import { join } from 'node:path'
import { App, type HttpResponse } from 'uWebSockets.js'
import { jsonBodyBytesMax } from '../../src/contract/limits.js'
import { BareSession } from './bare-session.js'
import { FloorFile } from './floor-file.js'
import { loadWalk } from './walk.js'

/** Compression ratio of zstd for the bodies of the duel. */
const compression = 13
/** As long as a row of the service's responses in the duel. */
const row = Buffer.from(`${'{'.padEnd(212)}},`)
const rowsMax = 20_000
const padding = 64

const walk = loadWalk()
const session = await BareSession.open()
const file = FloorFile.filled(join(process.env.DATA_DIR ?? '.', 'floor.bin'))
const body = Buffer.alloc(jsonBodyBytesMax + padding)
const rows = Buffer.alloc(rowsMax * row.length, row)
let lastResponse: Uint8Array = Buffer.alloc(0)

App()
  .post('/v1/cycles', (response) => {
    let length = 0
    let open = true
    response.onAborted(() => (open = false))
    response.onData((chunk, isLast) => {
      body.set(new Uint8Array(chunk), length)
      length += chunk.byteLength
      if (isLast) void score(length).then((bytes) => open && send(response, bytes))
    })
  })
  .get('/v1/scores/*', (response) => send(response, lastResponse))
  .get('/v1/health', (response) => void response.end('{}'))
  .listen('127.0.0.1', Number(process.env.PORT), (socket) => {
    if (socket === false) throw new Error('the floor server cannot listen')
  })

async function score(bodyBytes: number): Promise<Uint8Array> {
  const rowCount = walk(body, bodyBytes)
  await session.run(rowCount)
  const bytes = responseOf(rowCount)
  file.write([body.subarray(0, bodyBytes / compression), bytes])
  lastResponse = bytes
  return bytes
}

/** All cycles have the same rows, so one copy replaces the encoder. */
function responseOf(rowCount: number): Buffer {
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
