/** Access to files on a volume that does not respond, such as a network file system without its server. */
import { spawnSync } from 'node:child_process'
import { constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { nextTurn } from '../../base/index.js'
import { ModelError } from '../model.js'
import { accessFile, accessPromptly } from './read-file.js'

/** Reads of it do not end before `respond`, as on a volume that does not respond. */
function unresponsiveFile(directory: string, name: string) {
  const path = join(directory, name)
  expect(spawnSync('mkfifo', [path]).status).toBe(0)
  const read = () => accessPromptly(path, () => readFile(path, 'utf8'))
  const respond = async () => {
    // Opening it for reading as well does not wait for a reader.
    const pipe = await open(path, constants.O_RDWR | constants.O_NONBLOCK)
    await pipe.write('content')
    return pipe
  }
  return { path, read, respond }
}

function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-files-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  return directory
}

const noResponse = /cannot be read: its volume has not responded for 5 s$/

test('a volume that does not respond is an error, and leaves threads to everything else', async () => {
  const directory = scratch()
  const small = join(directory, 'small')
  writeFileSync(small, 'small')
  const readSmall = () => accessPromptly(small, () => readFile(small, 'utf8'))
  const [first, second] = [unresponsiveFile(directory, 'a'), unresponsiveFile(directory, 'b')]
  onTestFinished(async () => {
    for (const pipe of [await first.respond(), await second.respond()]) await pipe.close()
  })

  const failing = expect(first.read()).rejects.toThrow(noResponse)
  await vi.advanceTimersByTimeAsync(4999)
  expect(await readSmall()).toBe('small')
  await vi.advanceTimersByTimeAsync(1)
  await failing
  await expect(first.read()).rejects.toThrow(ModelError)
  expect(await readSmall()).toBe('small')

  // More than the pool has threads. They end without a further wait, as those of the same volume would.
  const others = [second.read(), ...Array.from({ length: 8 }, readSmall)]
  const ended = Promise.all(
    others.map((other) =>
      expect(other)
        .rejects.toThrow(noResponse)
        .catch(() => other),
    ),
  )
  await vi.advanceTimersByTimeAsync(5000)
  await ended
  await expect(second.read()).rejects.toThrow(noResponse)
  await expect(readSmall()).rejects.toThrow(noResponse)
  expect((await stat(small)).size).toBe(5)
})

test('a volume that responds again is read again', async () => {
  const { path, read, respond } = unresponsiveFile(scratch(), 'a')
  const failing = expect(read()).rejects.toThrow(noResponse)
  await vi.advanceTimersByTimeAsync(5000)
  await failing
  const pipe = await respond()
  await pipe.close()
  rmSync(path)
  writeFileSync(path, 'again')
  await vi.waitFor(async () => expect(await read()).toBe('again'))
})

test('two accesses run at a time, however many there are: commits of the store need threads of the pool too', async () => {
  let running = 0
  let most = 0
  const access = async (): Promise<void> => {
    most = Math.max(most, ++running)
    await nextTurn()
    running--
  }
  const all = Array.from({ length: 8 }, (_, index) =>
    (index % 2 === 0 ? accessFile : accessPromptly)('a', access),
  )
  await Promise.all(all)
  expect(most).toBe(2)
})
