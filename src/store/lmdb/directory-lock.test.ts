/**
 * One process per data directory.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDirectory } from '../index.js'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-lock-'))
})

afterEach(() => rm(directory, { recursive: true }))

/** A process that locks the directory, says so, and then does `next`. */
async function startHolder(next: string): Promise<ChildProcessByStdio<null, Readable, null>> {
  const script = `
    const { lockDirectory } = await import(process.argv[1])
    await lockDirectory(process.argv[2])
    console.log('locked')
    ${next}`
  const built = new URL('../../../dist/store/index.js', import.meta.url).href
  const holder = spawn(process.execPath, ['--input-type=module', '-e', script, built, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  return holder
}

test('a second lock names the process that holds the first, and works once that is released', async () => {
  const lock = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toMatchObject({
    code: 'locked',
    message: `the data directory ${directory} is in use by process ${process.pid}`,
  })
  await lock.release()
  const again = await lockDirectory(directory)
  await again.release()
})

test('two directories do not share a lock', async () => {
  const locks = [
    await lockDirectory(directory),
    await lockDirectory(await mkdtemp(join(directory, 'other-'))),
  ]
  for (const lock of locks) await lock.release()
})

test('of many that try at once, one gets the lock', async () => {
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockDirectory(directory)))
  const locks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  expect(locks).toHaveLength(1)
  await locks[0]?.release()
})

test('a lock dies with its process, also by kill -9', async () => {
  const holder = await startHolder('setInterval(() => undefined, 1000)')
  await expect(lockDirectory(directory)).rejects.toThrow(`process ${holder.pid}`)
  const exited = once(holder, 'exit')
  holder.kill('SIGKILL')
  await exited
  const lock = await lockDirectory(directory)
  await lock.release()
})

test('a process that is too busy to answer still holds its lock', async () => {
  const holder = await startHolder('for (;;) {}')
  await expect(lockDirectory(directory)).rejects.toThrow('in use by another process')
  holder.kill('SIGKILL')
  await once(holder, 'exit')
})

test('a lock does not keep its process alive', async () => {
  const holder = await startHolder('')
  const [code] = (await once(holder, 'exit')) as [number]
  expect(code).toBe(0)
})

test.runIf(process.platform === 'linux')('a client that says nothing and stays is hung up on', async () => {
  const lock = await lockDirectory(directory)
  const { dev, ino } = await stat(directory, { bigint: true })
  const client = connect({ path: `\0understudy-${dev}-${ino}`, allowHalfOpen: true })
  client.resume()
  await once(client, 'end')
  await lock.release()
  client.destroy()
})
