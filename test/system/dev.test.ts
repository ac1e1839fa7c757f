/**
 * `npm run dev` in a copy of the sources: a change is served without a further command, and Ctrl-C leaves nothing behind. The page
 * is seen in Chromium; without it, one line says that these tests are skipped.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { commandOf, runningPids } from '../harness/proc.js'
import { browserMissing, launch } from '../helpers/browser.js'
import { projectDir } from '../helpers/project.js'
import { scratchDir } from '../helpers/servers.js'

if (browserMissing) console.log('skipped: test/system/dev.test.ts needs Chromium at /usr/bin/chromium')

let project: string

beforeEach(() => {
  project = realpathSync(scratchDir())
  const files = readdirSync(projectDir).filter((name) => /\.(json|gyp|ts)$|^\.npmrc$/.test(name))
  for (const name of [
    ...files,
    'bin',
    'build/Release',
    'dist',
    'models',
    'scripts',
    'src',
    'test/harness',
    'test/helpers',
  ])
    cpSync(join(projectDir, name), join(project, name), { recursive: true })
  symlinkSync(join(projectDir, 'node_modules'), join(project, 'node_modules'))
})

function change(file: string, from: string, to: string): void {
  const text = readFileSync(join(project, file), 'utf8')
  expect(text).toContain(from)
  writeFileSync(join(project, file), text.replace(from, to))
}

interface Development {
  readonly process: ChildProcess
  readonly output: () => string
  /** Resolves to the match, once the output has it. Rejects if the program ends before. */
  readonly printed: (pattern: RegExp) => Promise<string>
  /** As Ctrl-C in a terminal. */
  readonly interrupt: () => Promise<void>
}

function start(...flags: string[]): Development {
  // A group of its own, as a terminal gives it.
  const child = spawn('npm', ['run', 'dev', '--', ...flags], { cwd: project, detached: true })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const interrupt = async (signal: NodeJS.Signals = 'SIGINT'): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal)
    await ended
  }
  onTestFinished(() => interrupt('SIGKILL'))
  let output = ''
  const printed = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output)
        if (match !== null) resolve(match[1] ?? match[0])
      }
      for (const stream of [child.stdout, child.stderr]) stream.on('data', look)
      child.once('close', () => reject(new Error(output)))
      look()
    })
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { process: child, output: () => output, printed, interrupt: () => interrupt() }
}

/** Command lines of processes that run something of the copy. */
function processesOfProject(): string[] {
  return runningPids()
    .map((pid) => commandOf(pid).join(' '))
    .filter((command) => command.includes(project))
}

const addressOfPage = /the page: (http:\S+)/

test.skipIf(browserMissing)(
  'the page alone shows fixtures in each view, and a changed label and fixture without a reload by hand',
  async () => {
    const development = start('--fixtures')
    const address = await development.printed(addressOfPage)
    const browser = await launch()
    onTestFinished(() => browser.close())
    const page = await browser.newPage({ baseURL: address })
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('response', (response) => {
      if (!response.ok()) problems.push(`${response.status()} ${response.url()}`)
    })
    for (const view of ['now', 'picks', 'post', 'post/g/77', 'models', 'cycles', 'report']) {
      await page.goto(`/#/${view}`)
      await page.locator('main h1').first().waitFor({ state: 'attached' })
    }
    expect(problems).toEqual([])
    const image = await page.request.get('/api/posts/g/77/images/1')
    expect(image.headers()['content-type']).toBe('image/jpeg')
    await page.goto('/#/models')
    await page.getByText('/srv/models').waitFor()
    change('test/helpers/page-fixtures.ts', '/srv/models', '/srv/changed-models')
    await page.getByText('/srv/changed-models').waitFor()
    change('src/page/messages/models.tsx', "'Commands'", "'label of the test'")
    await page.getByText('label of the test').first().waitFor()
    await development.interrupt()
    expect(processesOfProject()).toEqual([])
  },
)

test('a change of the service is compiled and served, and one that does not compile leaves the service as it was', async () => {
  const dataDir = join(project, 'data/dev')
  // As an earlier call has left it.
  mkdirSync(join(dataDir, 'models'), { recursive: true })
  writeFileSync(join(dataDir, 'models/ACTIVE'), 'demo-1\n')
  symlinkSync(join(project, 'models/demo-1'), join(dataDir, 'models/demo-1'))
  const development = start()
  const address = await development.printed(addressOfPage)
  const get = async (path: string): Promise<unknown> => (await fetch(`${address}${path}`)).json()
  expect(await get('api/now')).toMatchObject({ model: { version: 'demo-1' } })
  expect(await (await fetch(address)).text()).toContain('<div id="page">')

  const [before, broken, after] = ["'ready' : 'not ready'", "nothing : 'not ready'", "'changed' : 'changed'"]
  change('src/admin/admin.ts', before, broken)
  await development.printed(/error TS2304.*nothing/)
  expect(await get('readyz')).toMatchObject({ status: 'ready' })
  change('src/admin/admin.ts', broken, after)
  await expect.poll(() => get('readyz')).toMatchObject({ status: 'changed' })
  // The first start, and the one after the change that compiles.
  expect(development.output().match(/"msg":"listening"/g)).toHaveLength(2)
  await development.interrupt()
  expect(processesOfProject()).toEqual([])
})

test('Ctrl-C while the data is made leaves nothing of it', async () => {
  const development = start()
  await development.printed(/simulating a day/)
  await expect.poll(() => processesOfProject().some((line) => line.includes('serve'))).toBe(true)
  await development.interrupt()
  expect(processesOfProject()).toEqual([])
  expect(existsSync(join(project, 'data')) ? readdirSync(join(project, 'data')) : []).toEqual([])
})
