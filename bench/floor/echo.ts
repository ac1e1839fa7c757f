/**
 * The least that a server can do with a cycle: take its bytes and send as many as asked for. A process of its own,
 * started by the floor; it tells its port and ends with its parent.
 */
import { App, us_socket_local_port } from 'uWebSockets.js'
import { jsonBodyBytesMax } from '../../src/contract/limits.js'

const received = Buffer.alloc(jsonBodyBytesMax)
const answer = Buffer.alloc(jsonBodyBytesMax, '0')

App()
  .post('/*', (response, request) => {
    const answerBytes = Number(request.getHeader('x-answer-bytes'))
    let length = 0
    let open = true
    response.onAborted(() => (open = false))
    response.onData((chunk, isLast) => {
      received.set(new Uint8Array(chunk), length)
      length += chunk.byteLength
      if (!isLast || !open) return
      response.writeHeader('x-received-bytes', String(length))
      response.end(answer.subarray(0, answerBytes))
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('the echo cannot listen')
    process.send?.({ port: us_socket_local_port(socket) })
  })

process.on('disconnect', () => process.exit(0))
