/** Commits to LMDB, in an environment that fails on demand where a real disk would. */
import { describe, expect, test } from 'vitest'
import { createMemoryContents } from '../../../test/helpers/memory-store.js'
import { bytesOf } from '../../../test/helpers/store-samples.js'
import { mebibyte } from '../../base/index.js'
import { WriteQueue } from '../records/index.js'
import { StoreError } from '../store-error.js'
import { commitChannel, LmdbCommit } from './commit.js'
import { pageBytes } from './environment.js'

/** Transactions as LMDB has them, which store lines as keys. `faults` may change between two writes. */
function createEnvironment() {
  const faults = {
    commit: undefined as unknown,
    probe: undefined as unknown,
    file: undefined as StoreError | undefined,
    lackOfRoom: null as string | null,
    bytesInUse: 0,
  }
  const committed: string[] = []
  const stops: StoreError[] = []
  let commitCount = 0
  const commit = new LmdbCommit(
    {
      databases: createMemoryContents(),
      transaction: async (changes) => {
        await new Promise((resolve) => setImmediate(resolve))
        if (faults.commit !== undefined) throw faults.commit as Error
        committed.push(...changes.map(({ key }) => Buffer.from(key as Uint8Array).toString()))
        commitCount++
      },
      probe: () => {
        if (faults.probe !== undefined) throw faults.probe as Error
      },
      bytesInUse: () => faults.bytesInUse,
      checkFile: () => {
        if (faults.file !== undefined) throw faults.file
      },
      lackOfRoom: () => Promise.resolve(faults.lackOfRoom),
    },
    { bytesMax: 1e9, onStopped: (reason) => void stops.push(reason) },
  )
  const queue = new WriteQueue(commit)
  const put = (line: string): string => {
    queue.databases.outcomes.put(Buffer.from(line), bytesOf(1))
    return line
  }
  const write = (line: string, bytes = 1, isCycle = false) => queue.write(bytes, () => put(line), isCycle)
  const isHealthy = (): boolean => !commit.isStopped && queue.isHealthy
  return { faults, committed, stops, queue, put, write, isHealthy, commitCount: () => commitCount }
}

function nativeError(message: string, code: number): Error {
  return Object.assign(new Error(message), { code })
}

describe('the write queue', () => {
  test('writes of one turn of the event loop share a commit, in order', async () => {
    const { write, committed, commitCount } = createEnvironment()
    expect(await Promise.all(['a', 'b', 'c'].map((line) => write(line)))).toEqual(['a', 'b', 'c'])
    expect(committed).toEqual(['a', 'b', 'c'])
    expect(commitCount()).toBe(1)
    await write('d')
    expect(commitCount()).toBe(2)
  })

  test('large writes do not share a commit', async () => {
    const { write, commitCount } = createEnvironment()
    await Promise.all(['a', 'b', 'c'].map((line) => write(line, 20 * 1024 * 1024)))
    expect(commitCount()).toBe(3)
  })

  test('the queue is bounded, and a write beyond the limit is refused', async () => {
    const { write } = createEnvironment()
    const large = (line: string) => write(line, 100 * 1024 * 1024)
    const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map(large))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(results[2]).toMatchObject({ reason: { code: 'busy' } })
    expect(await large('c')).toBe('c')
  })

  test('a commit takes 32 MiB of writes, and not a byte more', async () => {
    for (const [bytes, expected] of [
      [16 * mebibyte, 1],
      [16 * mebibyte + 1, 2],
    ] as const) {
      const { write, commitCount } = createEnvironment()
      await Promise.all([write('a', 16 * mebibyte), write('b', bytes)])
      expect(commitCount()).toBe(expected)
    }
  })

  test('the queue holds 256 MiB, and not a byte more', async () => {
    for (const [bytes, status] of [
      [156 * mebibyte, 'fulfilled'],
      [156 * mebibyte + 1, 'rejected'],
    ] as const) {
      const { write } = createEnvironment()
      const [, second] = await Promise.allSettled([write('a', 100 * mebibyte), write('b', bytes)])
      expect(second.status).toBe(status)
    }
  })

  test('a write that throws is rolled back alone', async () => {
    const { write, put, queue, committed } = createEnvironment()
    const before = write('a')
    const failing = queue.write(1, () => {
      put('failing')
      throw new RangeError('mine')
    })
    const after = write('b')
    await expect(failing).rejects.toThrow(RangeError)
    await Promise.all([before, after])
    expect(committed).toEqual(['a', 'b'])
  })

  test('a commit that fails rejects all its writes, and the next one works', async () => {
    const { faults, write, committed } = createEnvironment()
    faults.commit = nativeError('Input/output error', 5)
    const results = await Promise.allSettled([write('a'), write('b')])
    for (const result of results)
      expect(result).toMatchObject({ reason: { code: 'failed', cause: faults.commit as Error } })
    faults.commit = undefined
    await write('c')
    expect(committed).toEqual(['c'])
  })

  test('the specific error behind a general one is the cause', async () => {
    const { faults, write } = createEnvironment()
    const cause = nativeError('No space left on device', 28)
    const commitError = Promise.reject(cause)
    commitError.catch(() => undefined)
    faults.commit = Object.assign(new Error('Commit failed'), { commitError })
    await expect(write('a')).rejects.toMatchObject({ code: 'full', cause })
  })

  test('a general error whose specific one never settles does not block the queue', async () => {
    const { faults, write } = createEnvironment()
    faults.commit = Object.assign(new Error('Commit failed'), { commitError: new Promise(() => undefined) })
    await expect(write('a')).rejects.toMatchObject({ code: 'failed', cause: faults.commit as Error })
  })

  test('an I/O error without room is reported as full, with what lacks room', async () => {
    const { faults, write } = createEnvironment()
    faults.commit = nativeError('Input/output error', 5)
    faults.lackOfRoom = '4096 bytes are free'
    await expect(write('a')).rejects.toMatchObject({
      code: 'full',
      message: 'no room for a write: 4096 bytes are free',
    })
  })

  test('an I/O error with room names the write that ended early, which LMDB reports alike', async () => {
    const { faults, write } = createEnvironment()
    faults.commit = nativeError('Input/output error', 5)
    await expect(write('a')).rejects.toMatchObject({
      code: 'failed',
      message:
        'the storage refused a write: Input/output error, or a write that ended early (a quota, a network file system)',
    })
  })

  test('after a failure that makes the environment unusable, no further write begins', async () => {
    const { faults, write, commitCount } = createEnvironment()
    await write('a')
    faults.commit = nativeError('Input/output error', 5)
    faults.probe = nativeError('MDB_PANIC', -30795)
    const results = await Promise.allSettled([write('b', 30e6), write('c', 30e6)])
    expect(results[1]).toMatchObject({ reason: { code: 'failed', cause: faults.probe as Error } })
    faults.commit = undefined
    await expect(write('d')).rejects.toThrow('restart the service')
    expect(commitCount()).toBe(1)
  })

  test('a write past the size limit is refused, and a later one that fits is stored', async () => {
    const { faults, write, committed } = createEnvironment()
    faults.bytesInUse = 1e9 - 10
    await expect(write('a')).rejects.toMatchObject({ code: 'full' })
    faults.bytesInUse = 5e8
    await expect(write('a', 5e8)).rejects.toMatchObject({ code: 'full' })
    faults.bytesInUse = 0
    await write('b')
    expect(committed).toEqual(['b'])
  })

  test('of writes that do not fit together, those that fit are stored', async () => {
    const { faults, write, committed } = createEnvironment()
    faults.bytesInUse = 1e9 - 1000 * pageBytes
    const results = await Promise.allSettled([write('a'), write('large', 20 * mebibyte), write('b')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(committed).toEqual(['a', 'b'])
  })

  test('a write may fill the file up to its limit, together with what a transaction adds', async () => {
    const addedBytes = 256 * pageBytes
    for (const [bytes, status] of [
      [1000, 'fulfilled'],
      [1001, 'rejected'],
    ] as const) {
      const { faults, write } = createEnvironment()
      faults.bytesInUse = 1e9 - addedBytes - 1000
      const [result] = await Promise.allSettled([write('a', bytes)])
      expect(result.status).toBe(status)
    }
  })

  test('once a write is refused, the store is healthy again after a cycle, or a write of that size', async () => {
    const { faults, write, isHealthy } = createEnvironment()
    const refuse = async (bytes: number): Promise<void> => {
      faults.commit = nativeError('No space left on device', 28)
      await expect(write('refused', bytes, true)).rejects.toMatchObject({ code: 'full' })
      faults.commit = undefined
    }
    await refuse(1000)
    await write('small image', 999)
    expect(isHealthy()).toBe(false)
    await write('large image', 1000)
    expect(isHealthy()).toBe(true)
    await refuse(1000)
    await write('small cycle', 10, true)
    expect(isHealthy()).toBe(true)
  })

  test('neither a cycle that throws nor a write that changes nothing makes the store healthy again', async () => {
    const { faults, write, queue, isHealthy } = createEnvironment()
    faults.bytesInUse = 1e9
    await expect(write('a')).rejects.toMatchObject({ code: 'full' })
    faults.bytesInUse = 0
    const fail = (): never => {
      throw new StoreError('exists', 'mine')
    }
    await expect(queue.write(1000, fail, true)).rejects.toMatchObject({ code: 'exists' })
    await queue.write(1000, () => 'nothing changes')
    expect(isHealthy()).toBe(false)
  })

  test('when the file is missing from its path, writes stop permanently and reports it once', async () => {
    const { faults, write, isHealthy, stops, committed } = createEnvironment()
    const reason = new StoreError('failed', 'the file was deleted')
    faults.file = reason
    await expect(write('a')).rejects.toBe(reason)
    faults.file = undefined
    await expect(write('b')).rejects.toBe(reason)
    expect({ stops, committed, healthy: isHealthy() }).toEqual({
      stops: [reason],
      committed: [],
      healthy: false,
    })
  })

  test('idle waits for everything in the queue', async () => {
    const { queue, write, committed } = createEnvironment()
    void write('a', 30e6)
    void write('b', 30e6)
    await queue.idle()
    expect(committed).toEqual(['a', 'b'])
    await queue.idle()
  })
})

test('each commit publishes its time, and whether it failed', async () => {
  const { write, faults } = createEnvironment()
  const published: unknown[] = []
  const listener = (message: unknown): void => void published.push(message)
  commitChannel.subscribe(listener)
  await write('stored')
  faults.commit = new Error('a fault of the disk')
  await expect(write('refused')).rejects.toThrow()
  commitChannel.unsubscribe(listener)
  const ms = expect.any(Number) as number
  expect(published).toEqual([
    { ms, hasFailed: false },
    { ms, hasFailed: true },
  ])
})
