/**
 * Connections that come faster than they can be accepted.
 */
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from '../helpers/server-process.js'
import { started } from '../helpers/servers.js'

const connectionCount = 1000

/** The shim asks for as many as the system grants. */
function mayWait(): number {
  try {
    const shim = existsSync(join(projectDir, 'dist', 'native', 'one-request-at-a-time.so'))
    return shim ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : 0
  } catch {
    return 0
  }
}

test.skipIf(mayWait() < connectionCount)(
  'a thousand connections that come while the server is busy are kept, and not dropped',
  async () => {
    const server = await started()
    process.kill(server.pid!, 'SIGSTOP')
    const sockets: Socket[] = []
    try {
      // One that the kernel drops is tried again a second later, and again, for as long as the server stands still.
      await Promise.all(
        Array.from({ length: connectionCount }, () => {
          const socket = connect(server.port, '127.0.0.1')
          sockets.push(socket)
          return new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
        }),
      )
    } finally {
      process.kill(server.pid!, 'SIGCONT')
    }
    expect((await server.call({ path: '/v1/health' })).status).toBe(200)
    for (const socket of sockets) socket.destroy()
  },
)
