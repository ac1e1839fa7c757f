/** A client whose clock is ahead: what the service reports. */
import { expect, test } from 'vitest'
import { cycleIdOf } from '../../src/contract/index.js'
import { send } from '../harness/http.js'
import { cycleBody } from '../helpers/bodies.js'
import { freePort } from '../harness/server.js'
import { started } from '../helpers/servers.js'

test('a cycle refused for the future is a warning in readiness, metrics and log, and the service stays ready', async () => {
  const port = await freePort()
  const server = await started({ UNDERSTUDY_ADMIN_PORT: String(port) })
  const get = async (path: string): Promise<string> => (await send({ port, path })).text
  expect(await get('/metrics')).toMatch(/^understudy_clock_difference_seconds Nan$/m)
  expect(await get('/readyz')).not.toContain('"clock"')
  const boundaryMs = 5 * 60_000
  const atMs = (Math.floor(Date.now() / boundaryMs) + 2) * boundaryMs
  const body = { ...cycleBody(0), cycle_id: cycleIdOf(atMs), cycle_time: new Date(atMs).toISOString() }
  const { status, headers } = await server.postCycle(body)
  expect(status).toBe(422)
  const retryAfterS = Number(headers['retry-after'])
  expect([retryAfterS > 295, retryAfterS <= 600]).toEqual([true, true])
  expect(JSON.parse(await get('/readyz'))).toMatchObject({
    status: 'ready',
    checks: expect.arrayContaining([
      { check: 'clock', status: 'warn', reason: expect.stringContaining(cycleIdOf(atMs)) as string },
    ]) as object[],
  })
  // Metrics are read at most once a second.
  await expect.poll(() => get('/metrics')).toMatch(/^understudy_clock_difference_seconds -\d+/m)
  expect(await get('/metrics')).toMatch(/^understudy_check_ok\{check="clock"\} 0.5$/m)
  await server.logged(/"level":40.*"ahead_ms":\d+,.*the clocks of client and service differ/)
})
