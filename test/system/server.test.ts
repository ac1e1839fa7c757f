/**
 * The whole server from outside: real processes, real sockets, kill -9 and restart.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CycleResponse, ErrorRecord } from '../../src/contract/index.js'
import { stageNames } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { executable, projectDir } from '../harness/server.js'
import { smallJpeg } from '../harness/jpeg.js'
import { scratchDir, started } from '../helpers/servers.js'

const outcome = {
  placement_id: 'p1',
  gall_id: 'g',
  post_no: 1,
  tier: 'main',
  placed_at: '2024-03-01T00:00:00+09:00',
  picked_by: { type: 'operator' },
}

test('bodies as long as one that was sent again are themselves, wherever they differ from it', async () => {
  const server = await started()
  const body = cycleBody(0, { candidates: [candidate('g', 1, { body_html: '가'.repeat(100_000) })] })
  const json = Buffer.from(JSON.stringify(body))
  const post = (bytes: Buffer) => server.call({ method: 'POST', path: '/v1/cycles', body: bytes })
  const first = await post(json)
  expect(first.status).toBe(200)
  for (let time = 0; time < 3; time++) expect((await post(json)).text).toBe(first.text)
  const [start, end] = [json.indexOf('"가') + 1, json.lastIndexOf('가')]
  for (const at of [start, (start + end) >> 1, end]) {
    const other = Buffer.from(json)
    other.set(Buffer.from('나'), start + Math.floor((at - start) / 3) * 3)
    expect((await post(other)).status, `${at}`).toBe(409)
    expect((await post(json)).text).toBe(first.text)
  }

  const image = commented(await smallJpeg(1), 'a')
  const put = (bytes: Buffer, position: number) =>
    server.call({
      method: 'PUT',
      path: `/v1/images/g/1/0${position}`,
      body: bytes,
      headers: { 'Content-Type': 'image/jpeg' },
    })
  const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
  expect((await put(image, 1)).status).toBe(201)
  for (let time = 0; time < 3; time++)
    expect(await put(image, 1)).toMatchObject({ status: 200, json: { sha256: sha256Of(image) } })
  const other = commented(await smallJpeg(1), 'b')
  expect(other).toHaveLength(image.length)
  expect((await put(other, 1)).status).toBe(409)
  expect(await put(other, 2)).toMatchObject({ status: 201, json: { sha256: sha256Of(other) } })
  expect(await put(image, 1)).toMatchObject({ status: 200, json: { sha256: sha256Of(image) } })
})

/** The JPEG with 180 kB of comments, the last of which ends with this letter. */
function commented(jpeg: Buffer, letter: string): Buffer {
  const comment = (text: string): Buffer => {
    const head = Buffer.of(0xff, 0xfe, 0, 0)
    head.writeUInt16BE(text.length + 2, 2)
    return Buffer.concat([head, Buffer.from(text)])
  }
  const texts = ['x', 'x', `${'x'.repeat(59_999)}${letter}`].map((text) => text.padEnd(60_000, 'x'))
  return Buffer.concat([jpeg.subarray(0, 2), ...texts.map(comment), jpeg.subarray(2)])
}

test('after kill -9 every acknowledged write is stored byte for byte, and the pool continues', async () => {
  const server = await started()
  const image = await smallJpeg(1)
  const put = (body: Buffer) =>
    server.call({
      method: 'PUT',
      path: `/v1/images/${encodeURIComponent('한/글')}/7/01`,
      body,
      headers: { 'Content-Type': 'image/jpeg' },
    })
  const setWeights = (views: number) =>
    server.call({
      method: 'PUT',
      path: '/v1/weights',
      body: JSON.stringify({ version: 'v2', weights: { views, comments: 0, up: 0, downvote_share: 0 } }),
    })
  const first = cycleBody(0, {
    candidates: [candidate('g', 1), candidate('g', 2)],
    engagement: [reading('g', 1, cycleMs(0))],
  })
  const response = await server.postCycle(first)
  expect(response.status).toBe(200)
  expect((await put(image)).status).toBe(201)
  expect((await setWeights(2)).status).toBe(200)
  expect(
    (
      await server.call({
        method: 'POST',
        path: '/v1/outcomes',
        body: JSON.stringify({ outcomes: [outcome] }),
      })
    ).json,
  ).toEqual({ received: 1, created: 1, updated: 0 })

  await server.restart()

  expect((await server.call({ path: `/v1/scores/${first.cycle_id}` })).text).toBe(response.text)
  expect((await server.postCycle(Object.fromEntries(Object.entries(first).reverse()))).text).toBe(
    response.text,
  )
  expect((await put(image)).status).toBe(200)
  expect((await put(await smallJpeg(2))).status).toBe(409)
  expect((await setWeights(3)).status).toBe(409)
  expect(
    (
      await server.call({
        method: 'POST',
        path: '/v1/outcomes',
        body: JSON.stringify({ outcomes: [outcome] }),
      })
    ).json,
  ).toEqual({ received: 1, created: 0, updated: 1 })
  const next = await server.postCycle(
    cycleBody(1, { removals: [removal('g', 1)], engagement: [reading('g', 2, cycleMs(1))] }),
  )
  expect((next.json as CycleResponse).results.map((row) => [row.post_no, row.status])).toEqual([
    [2, 'scored'],
  ])
})

test('a stored image changes the score of its post, and of no other', async () => {
  const server = await started()
  const posts = [1, 2, 3]
  const same = { title: '같은 제목', images_in_post: 2, image_positions: [1, 2] }
  const put = await server.call({
    method: 'PUT',
    path: '/v1/images/g/2/01',
    body: await smallJpeg(1),
    headers: { 'Content-Type': 'image/jpeg' },
  })
  expect(put.status).toBe(201)
  const scores = async (index: number, fresh: boolean) => {
    const reply = await server.postCycle(
      cycleBody(index, {
        candidates: fresh ? posts.map((n) => candidate('g', n, same)) : [],
        engagement: posts.map((n) => reading('g', n, cycleMs(index))),
      }),
    )
    return (reply.json as CycleResponse).results.map((row) => row.score)
  }
  const [first, second, third] = await scores(0, true)
  expect(first).toBeTypeOf('number')
  expect(first).toBe(third)
  expect(second).not.toBe(first)
  // As before, from the records on disk.
  await server.restart()
  const [again, withImage, control] = await scores(1, false)
  expect(again).toBe(control)
  expect(withImage).not.toBe(again)
})

test('kill -9 under concurrent cycles loses no acknowledged cycle and stores none in part', async () => {
  const server = await started()
  const bodies = Array.from({ length: 60 }, (_, i) =>
    cycleBody(i, {
      candidates: [0, 1, 2].map((n) => candidate('g', i * 3 + n + 1)),
      engagement: [reading('g', i * 3 + 1, cycleMs(i))],
    }),
  )
  const acknowledged = new Map<string, string>()
  const kills = new Set<Promise<unknown>>()
  const queue = [...bodies]
  const worker = async (): Promise<void> => {
    while (kills.size === 0) {
      const body = queue.shift()
      if (body === undefined) return
      const reply = await server.postCycle(body).catch(() => null)
      if (reply?.status === 200) acknowledged.set(body.cycle_id, reply.text)
      if (acknowledged.size >= 20) kills.add(server.kill('SIGKILL'))
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  await Promise.all(kills)
  await server.start()
  const stored = new Set<string>()
  for (const { cycle_id } of bodies) {
    const reply = await server.call({ path: `/v1/scores/${cycle_id}` })
    if (acknowledged.has(cycle_id)) expect(reply.text).toBe(acknowledged.get(cycle_id))
    if (reply.status === 200) stored.add(cycle_id)
  }
  const view = (await server.postCycle(cycleBody(100))).json as CycleResponse
  const expected = bodies
    .filter((body) => stored.has(body.cycle_id))
    .flatMap((body) => body.candidates.map((c) => c.post_no))
  expect(view.results.map((row) => row.post_no).sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b))
})

test('several keys are valid at the same time, and a key with another character is not one of them', async () => {
  const server = await started({ UNDERSTUDY_API_KEYS: 'old-key-0123456789,new-key-0123456789' })
  const status = async (key: string | null) => (await server.call({ path: '/v1/weights', key })).status
  expect(await status('old-key-0123456789')).toBe(200)
  expect(await status('new-key-0123456789')).toBe(200)
  for (const key of [
    null,
    '',
    'old-key-0123456789,new-key-0123456789',
    'old-key-012345678',
    'old-key-0123456789x',
    'old-key\u00e9-0123456789',
  ]) {
    expect(await status(key), String(key)).toBe(401)
  }
})

test('a model that does not load leaves the server degraded until its files are correct', async () => {
  const modelsDir = scratchDir()
  cpSync(join(projectDir, 'models/transport-test-1'), join(modelsDir, 'transport-test-1'), {
    recursive: true,
  })
  writeFileSync(join(modelsDir, 'ACTIVE'), 'transport-test-1\n')
  const head = join(modelsDir, 'transport-test-1/head.onnx')
  const right = readFileSync(head)
  writeFileSync(head, 'not a model')
  const server = await started({ UNDERSTUDY_MODELS_DIR: modelsDir })
  expect((await server.call({ path: '/v1/health' })).json).toMatchObject({
    status: 'degraded',
    model_version: 'none',
  })
  const refused = await server.postCycle(cycleBody(0))
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
  writeFileSync(head, right)
  let health: unknown
  do health = (await server.call({ path: '/v1/health' })).json
  while ((health as { status: string }).status !== 'ok')
  expect((await server.postCycle(cycleBody(0))).status).toBe(200)
})

test('the log has one line per cycle and per request, and neither bodies nor keys', async () => {
  const server = await started()
  const first = (more: object): unknown => ({
    비밀: 1,
    ...cycleBody(0, {
      candidates: [candidate('g', 1, { title: '비밀 제목' })],
      engagement: [reading('g', 1, cycleMs(0))],
    }),
    ...more,
  })
  await server.postCycle(first({}))
  await server.postCycle(first({}))
  await server.postCycle(first({ candidates: [candidate('g', 1, { title: '비밀 다른' })] }))
  const { error } = (await server.postCycle(first({ 비밀: 2 }))).json as ErrorRecord
  expect(error.fields).toEqual([{ path: '비밀', problem: 'was 1, is 2' }])
  await server.postCycle({ ...cycleBody(1), engagement: [{ ...reading('g', 1, cycleMs(1)), views: -1 }] })
  await server.call({ path: '/v1/weights', key: 'a-wrong-key-0123456789' })
  await server.call({ path: '/v1/health' })
  await server.kill('SIGTERM')
  const lines = server.log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const { cycle_id } = cycleBody(0)
  const scored = lines.find((line) => line.msg === 'cycle scored')
  expect(scored).toMatchObject({
    cycle_id,
    status: 200,
    scored: 1,
    waiting: 0,
    not_scored: 0,
    candidates: 1,
    engagement: 1,
    warnings: 2,
    warning_kinds: ['transport_test', 'unknown_field'],
    model_version: 'transport-test-1',
    weights_version: 'initial',
  })
  expect(Object.keys(scored?.stages_ms as object)).toEqual([...stageNames])
  for (const member of ['ms', 'bytes_in', 'bytes_out']) expect(scored?.[member]).toBeGreaterThan(0)
  expect(lines.filter((line) => 'method' in line && line !== scored)).toMatchObject([
    { msg: 'cycle repeated', cycle_id, status: 200 },
    { msg: 'request', cycle_id, status: 409, problem: 'candidates[0].title: was "…", is "…"' },
    { msg: 'request', cycle_id, status: 409, problem: '…: was 1, is 2' },
    {
      msg: 'request',
      cycle_id: cycleBody(1).cycle_id,
      status: 400,
      problem: expect.stringMatching(/^engagement\[0\]\.views: must be an integer/) as string,
    },
    { msg: 'request', method: 'GET', path: '/v1/weights', status: 401, code: 'unauthorized' },
  ])
  for (const secret of [server.key, 'a-wrong-key', '비밀']) expect(server.log).not.toContain(secret)
})

test('a simulation of three hours passes despite a kill -9 halfway', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'info' })
  const simulation = spawn(
    executable,
    ['simulate', '--url', `http://127.0.0.1:${server.port}`, '--hours', '3', '--json'],
    {
      env: { ...process.env, UNDERSTUDY_API_KEYS: server.key },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  simulation.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  simulation.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => simulation.once('exit', resolve))
  while (server.log.split('"POST","path":"/v1/cycles"').length <= 12)
    await server.call({ path: '/v1/health' })
  await server.restart()
  expect(await ended, output).toBe(0)
})
