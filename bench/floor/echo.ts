/**
 * The least work that a server can do for a cycle: receive its bytes and send the requested number of bytes. A child
 * process of the floor probe; it sends its port to its parent and ends with it.
 */
import { App, us_socket_local_port } from 'uWebSockets.js'
import { jsonBodyBytesMax } from '../../src/contract/limits.js'

const received = Buffer.alloc(jsonBodyBytesMax)
const payload = Buffer.alloc(jsonBodyBytesMax, '0')

App()
  .post('/*', (response, request) => {
    const responseBytes = Number(request.getHeader('x-response-bytes'))
    let length = 0
    let open = true
    response.onAborted(() => (open = false))
    response.onData((chunk, isLast) => {
      received.set(new Uint8Array(chunk), length)
      length += chunk.byteLength
      if (!isLast || !open) return
      response.writeHeader('x-received-bytes', String(length))
      response.end(payload.subarray(0, responseBytes))
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('the echo cannot listen')
    process.send?.({ port: us_socket_local_port(socket) })
  })

process.on('disconnect', () => process.exit(0))
