/** `understudy status --watch`: it shows the state again and again, and survives a restart of the service. */
import { spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import { executable, freePort, ServerProcess } from '../harness/server.js'
import { ended } from '../helpers/servers.js'

test('status --watch shows the service, an outage and its end, until a signal', async () => {
  const adminPort = String(await freePort())
  const server = await ended(new ServerProcess({ UNDERSTUDY_ADMIN_PORT: adminPort })).start()
  const env = { ...process.env, UNDERSTUDY_DATA_DIR: server.dataDir, UNDERSTUDY_ADMIN_PORT: adminPort }
  const watching = spawn(executable, ['status', '--watch'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = new Promise((resolve) => watching.once('close', resolve))
  let text = ''
  watching.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  const shown = (pattern: RegExp) => expect.poll(() => text).toMatch(pattern)
  try {
    await shown(/pending posts +0\n[^]*pending posts +0\n/)
    await server.kill('SIGKILL')
    text = ''
    await shown(/^no admin listener responds at http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*\n/m)
    await server.start()
    text = ''
    await shown(/pending posts +0\n/)
    // Not a terminal: nothing clears the screen.
    expect(text).not.toContain('\x1b')
    watching.kill('SIGINT')
    expect(await closed).toBe(0)
  } finally {
    watching.kill('SIGKILL')
  }
})
