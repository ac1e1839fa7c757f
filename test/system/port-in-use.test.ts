/** A port that another process uses. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { executable, freePort } from '../harness/server.js'
import { scratchDir, started } from '../helpers/servers.js'

test('a port that is in use is refused with the flag to change', async () => {
  const adminPort = await freePort()
  const { port } = await started({ UNDERSTUDY_ADMIN_PORT: String(adminPort) })
  const flags = ['--data-dir', join(scratchDir(), 'other')]
  for (const [args, taken, flag] of [
    [['serve', ...flags, '--port', String(port)], port, '--port'],
    [['serve', ...flags, '--port', '0', '--admin-port', String(adminPort)], adminPort, '--admin-port'],
    [['demo', '--port', String(port)], port, '--port'],
  ] as const) {
    const { status, stderr } = spawnSync(executable, args, { encoding: 'utf8', cwd: scratchDir() })
    expect(stderr).toBe(
      `understudy: cannot listen on 127.0.0.1:${taken}: the port is in use; choose another one with ${flag}\n`,
    )
    expect(status).toBe(1)
  }
})
