/** The history on the admin listener: the report and the history of a post, as the commands print them. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { childrenOf, commandOf, environmentOf, isRunning } from '../harness/proc.js'
import { send, type Reply } from '../harness/http.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { executable, freePort, ServerProcess } from '../harness/server.js'

let server: ServerProcess
let adminPort: number

const id = (index: number): string => cycleBody(index).cycle_id
const posts = Array.from({ length: 12 }, (_, index) => index + 1)

/** Post 12 is saved with cycle 3. */
function body(index: number) {
  const pending = posts.filter((post) => post !== 12 || index < 3)
  return cycleBody(index, {
    candidates: index === 0 ? posts.map((post) => candidate('g', post)) : [],
    engagement: pending.map((post) => reading('g', post, cycleMs(index), { views: 10 * post * (index + 1) })),
    removals: index === 3 ? [removal('g', 12, { reason: 'saved', tier: 'app' })] : [],
  })
}

beforeAll(async () => {
  adminPort = await freePort()
  server = await new ServerProcess({
    UNDERSTUDY_ADMIN_PORT: String(adminPort),
    UNDERSTUDY_LOG_LEVEL: 'debug',
    NODE_OPTIONS: '--trace-warnings',
  }).start()
  for (let index = 0; index < 5; index++) expect((await server.postCycle(body(index))).status).toBe(200)
})
afterAll(() => server.dispose())

function get(path: string): Promise<Reply> {
  const headers = { authorization: `Bearer ${server.adminToken}` }
  return send({ port: adminPort, path: `/api/${path}`, headers })
}

function printed(...args: string[]): unknown {
  const flags = ['--json', '--data-dir', server.dataDir]
  const { stdout, stderr } = spawnSync(executable, [...args, ...flags], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

/** Processes of this command that the server has started and that run. */
function running(command: string): number[] {
  return childrenOf(server.pid!)
    .map(({ pid }) => pid)
    .filter((pid) => commandOf(pid).includes(command))
}

describe('the report', () => {
  test('is that of the command, and changes with a new cycle', async () => {
    const first = await get('report')
    expect(first.status, first.text).toBe(200)
    expect(JSON.parse(first.text)).toEqual(printed('report'))
    expect(JSON.parse(first.text)).toMatchObject({ window: { cycles: 5 }, visits: { saved: 1 } })
    expect((await server.postCycle(body(5))).status).toBe(200)
    expect(JSON.parse((await get('report')).text)).toMatchObject({ window: { cycles: 6 } })
  })

  test('that is ended by the system fails no cycle, and the next one is computed', async () => {
    expect((await server.postCycle(body(6))).status).toBe(200)
    const reply = get('report')
    await expect.poll(() => running('report').length, { interval: 5 }).toBe(1)
    // Stopped, it is in progress until this test continues it.
    process.kill(running('report')[0] ?? 0, 'SIGSTOP')
    const [pid = 0] = running('report')
    expect(commandOf(pid)).toContain('--max-old-space-size=1024')
    expect(environmentOf(pid)).not.toContain('NODE_OPTIONS')
    for (const index of [7, 8, 9]) expect((await server.postCycle(body(index))).status).toBe(200)
    process.kill(running('report')[0] ?? 0, 'SIGKILL')
    expect(await reply).toMatchObject({
      status: 500,
      text: expect.stringContaining('ended by SIGKILL') as string,
    })
    expect((await server.postCycle(body(10))).status).toBe(200)
    expect((await get('report')).status).toBe(200)
  })
})

describe('the history of a post', () => {
  test('is that of the command, for pending posts and for those that have left', async () => {
    for (const post of ['3', '12']) {
      const { status, text } = await get(`posts/g/${post}/history`)
      expect(status, text).toBe(200)
      expect(JSON.parse(text)).toEqual(printed('explain', 'g', post))
    }
    const { text } = await get('posts/g/12/history')
    expect(JSON.parse(text)).toMatchObject({
      visits: [{ entered_cycle: id(0), left_cycle: id(3), fate: 'saved', tier: 'app' }],
      cycles: [0, 1, 2].map((index) => ({ cycle_id: id(index), status: 'scored' })),
    })
  })

  test('explains the requested cycle, against another one', async () => {
    const { text } = await get(`posts/g/3/history?cycle=${id(2)}&against=${id(1)}`)
    expect(JSON.parse(text)).toEqual(printed('explain', 'g', '3', '--cycle', id(2), '--against', id(1)))
  })

  test.each([
    ...['g/99', 'g/12x', 'g%00/1', '--help/1', '--data-dir=x/1', `g/3/history?cycle=20300101T0000`],
  ])('%s is 404', async (path) => {
    const { status, text } = await get(`posts/${path.includes('/history') ? path : `${path}/history`}`)
    expect(status, text).toBe(404)
  })

  test('an error has the reason that the worker gives', async () => {
    const { text } = await get('posts/g/3/history?cycle=20300101T0000')
    const reason = { code: 'not_in_directory', cycle_id: '20300101T0000' }
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'not_found', reason } })
  })

  test.each(['cycle=x', 'against=--help', 'cycle='])('%s is 400', async (query) => {
    expect((await get(`posts/g/3/history?${query}`)).status).toBe(400)
  })
})

test('a service that stops ends the report in progress', async () => {
  expect((await server.postCycle(body(11))).status).toBe(200)
  const reply = get('report').catch(() => null)
  await expect.poll(() => running('report').length, { interval: 5 }).toBe(1)
  const [pid = 0] = running('report')
  process.kill(pid, 'SIGSTOP')
  expect(await server.kill('SIGTERM')).toBe(0)
  await reply
  await expect.poll(() => isRunning(pid)).toBe(false)
})
