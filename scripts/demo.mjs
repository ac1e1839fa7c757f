// `understudy demo` for other scripts, which need the data of its day.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.mjs'

const executable = fileURLToPath(new URL('../bin/understudy', import.meta.url))

/**
 * Starts the demo in a directory and resolves when its day is over, with the page's address, its data directory, and a function
 * that ends it. Rejects with its output if it ends before. `signal` ends it too.
 */
export async function startDemo(directory, { signal } = {}) {
  const [port, adminPort] = [await freePort(), await freePort()]
  const demo = spawn(executable, ['demo', '--port', String(port), '--admin-port', String(adminPort)], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((done) => demo.once('close', done))
  const stop = async () => {
    demo.kill('SIGTERM')
    await ended
  }
  signal?.addEventListener('abort', stop)
  const address = await new Promise((done, fail) => {
    let output = ''
    const onOutput = (chunk) => {
      output += chunk
      const shown = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/.exec(output)?.[0]
      if (shown !== undefined && output.includes('Ctrl-C')) done(shown)
    }
    demo.stdout.on('data', onOutput)
    demo.stderr.on('data', onOutput)
    demo.once('close', () => fail(new Error(output)))
  })
  return { address, dataDir: join(directory, 'data/demo', String(port)), stop }
}

/** Resolves to the port on which the server listens then. */
export function listen(server, port) {
  return new Promise((done, fail) => {
    server.once('error', fail)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', fail)
      done(server.address().port)
    })
  })
}
