/** One process per data directory. */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, linkSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { builtFile } from '../../base/index.js'
import { openFilesIn } from '../../../test/helpers/open-files.js'
import { lockDirectory } from '../index.js'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'understudy-lock-'))
})

afterEach(() => rm(directory, { recursive: true }))

const built = builtFile('store/index.js').href
const isLinux = process.platform === 'linux'
/** A container of the same host: another network namespace, other process ids. */
const container = ['unshare', '--net', '--pid', '--fork']
const hasContainers = isLinux && spawnSync('unshare', [...container.slice(1), 'true']).status === 0

/** A process that locks the directory, prints that it did, and then runs `next`. */
async function startHolder(next: string): Promise<ChildProcessByStdio<null, Readable, null>> {
  const script = `
    const { lockDirectory } = await import(process.argv[1])
    await lockDirectory(process.argv[2])
    console.log('locked')
    ${next}`
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

test('of many processes that try at once, one gets the lock', async () => {
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockDirectory(directory)))
  const locks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  expect(locks).toHaveLength(1)
  await locks[0]?.release()
})

test('a lock ends with its process, even by kill -9', async () => {
  const holder = await startHolder('setInterval(() => undefined, 1000)')
  await expect(lockDirectory(directory)).rejects.toThrow(`process ${holder.pid}`)
  const exited = once(holder, 'exit')
  holder.kill('SIGKILL')
  await exited
  const lock = await lockDirectory(directory)
  await lock.release()
})

test('a lock does not keep its process alive', async () => {
  const holder = await startHolder('')
  const [code] = (await once(holder, 'exit')) as [number]
  expect(code).toBe(0)
})

test.runIf(hasContainers)('a lock holds in other network and process namespaces', async () => {
  const lock = await lockDirectory(directory)
  const script = `
    const { lockDirectory } = await import(process.argv[1])
    console.log(await lockDirectory(process.argv[2]).then(() => 'locked it', (error) => error.code))`
  const [program = '', ...flags] = container
  const args = [...flags, process.execPath, '--input-type=module', '-e', script, built, directory]
  expect(spawnSync(program, args, { encoding: 'utf8' }).stdout).toBe('locked\n')
  await lock.release()
})

test.runIf(isLinux)('a socket of another user does not block startup', async () => {
  const { dev, ino } = statSync(directory, { bigint: true })
  const server = createServer().listen({ path: `\0understudy-${dev}-${ino}` })
  await once(server, 'listening')
  const lock = await lockDirectory(directory)
  await lock.release()
  server.close()
})

test('only the owner of the directory can open the lock file, so no other user can hold it', async () => {
  chmodSync(directory, 0o755)
  const lock = await lockDirectory(directory)
  expect(statSync(join(directory, 'understudy.lock')).mode & 0o777).toBe(0o600)
  await lock.release()
})

test('a lock file that is a link is refused, and its target is unchanged', async () => {
  const victim = join(directory, 'victim')
  writeFileSync(victim, 'mine')
  for (const link of [symlinkSync, linkSync]) {
    link(victim, join(directory, 'understudy.lock'))
    await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'unusable' })
    expect(readFileSync(victim, 'utf8')).toBe('mine')
    expect(openFilesIn(directory)).toEqual([])
    await rm(join(directory, 'understudy.lock'))
  }
})

test('a process that waited for a lock file which was then removed locks the new file', async () => {
  const locks = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const lock = await lockDirectory(directory).catch(() => null)
      if (lock !== null) await rm(join(directory, 'understudy.lock'), { force: true })
      return lock
    }),
  )
  for (const lock of locks) await lock?.release()
  const lock = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'locked' })
  await lock.release()
})
