/**
 * The start and the end of a child process, with the entry point that `npm run build` made.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startChild, type StartedChild } from './child-process.js'

describe.runIf(process.platform === 'linux')('a child process', () => {
  test('has an empty directory of its own, which is gone when it has ended', async () => {
    const child = started(await startChild())
    const directory = readlinkSync(`/proc/${child.pid}/cwd`)
    expect(readdirSync(directory)).toEqual([])
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    child.kill()
    expect(await child.ended).toBe('was ended by SIGKILL')
    expect(existsSync(directory)).toBe(false)
  })

  test('does not send telemetry, and loads nothing that the service loads', async () => {
    vi.stubEnv('NODE_OPTIONS', '--trace-warnings')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { pid } = started(await startChild())
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
    expect(environment).toContain('ORT_DISABLE_TELEMETRY=1')
    expect(environment.filter((line) => line.startsWith('NODE_OPTIONS='))).toEqual([])
  })
})

/** Its streams are read, so that their end is detected. */
function started(child: StartedChild): StartedChild {
  onTestFinished(() => child.kill())
  for (const stream of [...child.outputs, child.headers]) stream.resume()
  return child
}
