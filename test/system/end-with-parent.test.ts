/**
 * Processes that the program starts end with it, however it ends. Runs what `npm run build` made.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { projectDir } from '../helpers/project.js'

const watch = pathToFileURL(join(projectDir, 'dist/base/end-with-parent.js')).href
const startChild = (script: string, stdout: string): string =>
  `require('node:child_process').spawn(process.execPath, ['--import', ${JSON.stringify(watch)}, '-e', ${JSON.stringify(script)}],
    { stdio: ['pipe', ${JSON.stringify(stdout)}, 'inherit'] })`

test.each(['SIGKILL', 'SIGTERM'] as const)('a child ends when its parent ends by %s', async (signal) => {
  const script = `const child = ${startChild('setInterval(() => {}, 1000)', 'ignore')}
    child.once('spawn', () => console.log(child.pid)).once('exit', () => console.log('ended early'))
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [pid] = (await once(parent.stdout, 'data')) as [Buffer]
  expect(process.kill(Number(pid), 0)).toBe(true)
  parent.kill(signal)
  await expect.poll(() => isRunning(Number(pid)), { timeout: 20_000 }).toBe(false)
})

test('a child ends by itself, although its parent goes on', async () => {
  const parent = spawn(process.execPath, ['-e', startChild("console.log('done')", 'inherit')])
  expect(await once(parent, 'exit')).toEqual([0, null])
})

test('the standard input of a worker thread says nothing about the parent', async () => {
  const worker = `process.stdin.on('end', () => require('node:worker_threads').parentPort.postMessage('')).resume()`
  const script = `new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}, { eval: true })
    .on('message', () => console.log('goes on'))`
  const child = spawn(process.execPath, ['--import', watch, '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  expect(await once(child, 'close')).toEqual([0, null])
  expect(output).toBe('goes on\n')
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
