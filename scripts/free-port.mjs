// A port for a server that another process starts, for scripts and tests.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** A port of this machine on which nothing listens. */
export async function freePort() {
  for (;;) {
    // Below the ports that the system gives to connections: one of these may be taken again at any time.
    const port = randomInt(10_000, 32_768)
    const isFree = await new Promise((resolve) => {
      const server = createServer()
      server.on('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}
