/**
 * `understudy demo` as a process: what it prints, that its commands work, and how it ends. Runs what `npm run build` made.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { executable as understudy, freePort } from '../harness/server.js'

const root = mkdtempSync(join(tmpdir(), 'understudy-demo-'))
afterAll(() => rmSync(root, { recursive: true }))

function start(
  args: string[],
  env: NodeJS.ProcessEnv = {},
): { readonly child: ChildProcess; readonly ended: Promise<number | null> } {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(understudy, args, { cwd: root, env: { ...process.env, ...env }, stdio: [...stdio] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended: new Promise((resolve) => child.on('exit', resolve)) }
}

test('demo shows the page, posts by title, the comparison and the next steps, keeps running, and exits with 0 on Ctrl-C', async () => {
  // The whole day: a shorter window could be in the small hours in Korea, in which few posts are saved.
  const adminPort = await freePort()
  const demo = start(['demo', '--port', '0', '--admin-port', String(adminPort), '--hours', '24'], {
    UNDERSTUDY_ADMIN_PORT: 'off',
  })
  const explainCommand = /npx understudy explain (\S+) (\d+) --data-dir (\S+) --models-dir (\S+)\n/
  const stderr = text(demo.child.stderr!)
  let output = ''
  demo.child.stdout?.on('data', (piece: Buffer) => (output += piece.toString()))
  await new Promise<void>((resolve) => {
    demo.child.stdout?.on('data', () => explainCommand.test(output) && resolve())
    void demo.ended.then(() => resolve())
  })
  const [, key, url] = /curl -s -H 'Authorization: ([^']+)' (\S+)/.exec(output) ?? []
  const scores = await fetch(url ?? '', { headers: { authorization: key ?? '' } })
  expect(scores.status).toBe(200)
  const [, page = ''] = /^The page: (\S+)\n/m.exec(output) ?? []
  expect(page).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${adminPort}/\\?token=[\\w-]{43}$`))
  // A right token is kept as a cookie, with a redirect to the page; a wrong one returns 401.
  expect((await fetch(page, { redirect: 'manual' })).status).toBe(303)
  expect(output).toMatch(
    /picked by the model before them:\nearlier by +title +gallery +post\n.*\n *[\d.]+ (h|min) /,
  )
  const [, gallId = '', postNo = '', data = '', models = ''] = explainCommand.exec(output) ?? []
  const explain = start(['explain', gallId, postNo, '--data-dir', data, '--models-dir', models, '--json'])
  const explanation = text(explain.child.stdout!)
  expect(await explain.ended).toBe(0)
  expect(JSON.parse(await explanation)).toMatchObject({ gall_id: gallId, post_no: Number(postNo) })
  expect(output).toMatch(/Model \/\s+weights:\s+demo-1 \/\s+initial/)
  expect(output).toMatch(/of\s+these\s+[1-9]\d*\s+picks\s+are\s+decided/)
  expect(output).toMatch(
    /^model \(demo-1\) +[\d.]+ % .*\ntransport-test-1 +[\d.]+ % [^]*\nby recommendations +[\d.]+ % /m,
  )
  expect(output).not.toContain('{"')
  demo.child.kill('SIGINT')
  expect(await demo.ended).toBe(0)
  const { port } = new URL(url ?? '')
  await expect(fetch(`http://127.0.0.1:${port}/v1/health`)).rejects.toThrow()
  const dataDir = join(root, 'data', 'demo', port)
  expect(await stderr).toContain(`understudy: admin: ${page}\n`)
  expect(await stderr).toContain(`stopped; data kept in ${dataDir} until`)
  expect(await stderr).not.toContain('{"')
  expect(existsSync(join(dataDir, 'understudy.mdb'))).toBe(true)
})

/** Resolves when nothing listens on the port any more. */
async function closed(port: number): Promise<void> {
  const isUp = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/v1/health`).then(
      () => true,
      () => false,
    )
  await expect.poll(isUp, { timeout: 30_000, interval: 100 }).toBe(false)
}

test('the server of a demo that is killed ends too', async () => {
  const port = await freePort()
  const env = { UNDERSTUDY_ADMIN_PORT: 'off' }
  const demo = start(['demo', '--port', String(port)], env)
  const dataDir = join(root, 'data', 'demo', String(port))
  await expect
    .poll(() => fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => null), { timeout: 30_000 })
    .not.toBeNull()
  demo.child.kill('SIGKILL')
  await demo.ended
  await closed(port)
  // It has ended in order: the next server of the directory starts.
  const next = start(['serve', '--port', String(port), '--data-dir', dataDir], env)
  await expect
    .poll(() => fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => null), { timeout: 30_000 })
    .not.toBeNull()
  next.child.kill('SIGTERM')
  expect(await next.ended).toBe(0)
})

test('a demo whose output nobody reads stops, without a stack trace', async () => {
  const port = await freePort()
  const demo = start(['demo', '--port', String(port), '--hours', '1'], { UNDERSTUDY_ADMIN_PORT: 'off' })
  const stderr = text(demo.child.stderr!)
  demo.child.stdout?.destroy()
  expect(await demo.ended).toBe(0)
  expect(await stderr).not.toContain('    at ')
  await closed(port)
})
