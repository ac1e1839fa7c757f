/** A start that fails and an end with something in its way: what becomes of the process. */
import { spawn } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/server-process.js'
import { scratchDir, started } from './helpers/servers.js'

test('a start that finds its port taken leaves nothing behind that keeps a process alive', async () => {
  // Other than `understudy serve`, which tries the port before, and ends whatever is left.
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const env = {
    UNDERSTUDY_PORT: String((taken.address() as AddressInfo).port),
    UNDERSTUDY_DATA_DIR: scratchDir(),
    UNDERSTUDY_API_KEYS: 'key-for-the-tests-0123456789',
    UNDERSTUDY_LOG_LEVEL: 'info',
  }
  const script = `
    import { readSettings } from '${join(projectDir, 'dist/cli/read-settings.js')}'
    import { startServer } from '${join(projectDir, 'dist/server/index.js')}'
    const { settings } = readSettings({ flags: {}, env: ${JSON.stringify(env)}, directory: '/' })
    await startServer(settings).catch((error) => console.log(error.message))`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const late = setTimeout(() => child.kill('SIGKILL'), 45_000)
  const [code, signal] = await new Promise<unknown[]>((resolve) => {
    child.once('close', (...how) => resolve(how))
  })
  clearTimeout(late)
  taken.close()
  expect(output).toContain('model serves')
  expect(output).toContain('cannot listen on 127.0.0.1:')
  expect({ code, signal }).toEqual({ code: 0, signal: null })
})

test('a stage report that cannot be written is told in the log, and the service ends well', async () => {
  const server = await started({ UNDERSTUDY_STAGE_REPORT: join(scratchDir(), 'missing', 'report.json') })
  expect(await server.kill('SIGTERM')).toBe(0)
  await server.logged('the stage report could not be written')
  await server.logged('"msg":"stopped"')
})
