/**
 * The line of writes, over an environment that can be made to fail where a real disk would.
 */
import { describe, expect, test } from 'vitest'
import { StoreError } from './store-error.js'
import { Writer, type WriteEnvironment } from './writer.js'

/**
 * Transactions as LMDB has them, over a list of lines: what is given in one turn of the event loop is one commit.
 * `faults` may be changed between two writes.
 */
function createEnvironment() {
  const faults = {
    commit: undefined as unknown,
    probe: undefined as unknown,
    diskBytesFree: 1e12,
    bytesInUse: 0,
  }
  const committed: string[] = []
  const commitsEnded: boolean[] = []
  let pending: string[] = []
  let commitCount = 0
  let committing: Promise<void> | undefined
  const commit = (): Promise<void> =>
    (committing ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      const lines = pending
      pending = []
      committing = undefined
      if (faults.commit !== undefined) throw faults.commit as Error
      committed.push(...lines)
      commitCount++
    }))
  const environment: WriteEnvironment = {
    transaction: async (apply) => {
      const result = apply()
      await commit()
      return result
    },
    child: (apply) => {
      const before = pending.length
      try {
        return apply()
      } catch (error) {
        pending.length = before
        throw error
      }
    },
    probe: () => {
      if (faults.probe !== undefined) throw faults.probe as Error
    },
    bytesInUse: () => faults.bytesInUse,
    commitEnded: (stored) => void commitsEnded.push(stored),
    diskBytesFree: () => Promise.resolve(faults.diskBytesFree),
  }
  const writer = new Writer(environment, { bytesMax: 1e9, waitingBytesMax: 1e9 })
  const write = (line: string, bytes = 1) =>
    writer.run(bytes, () => {
      pending.push(line)
      return line
    })
  const insert = (line: string, bytes = 1) =>
    writer.insert(bytes, () => {
      if (committed.includes(line)) throw new StoreError('exists', line)
      pending.push(line)
      return commit().then(() => line)
    })
  return { faults, committed, commitsEnded, writer, write, insert, commitCount: () => commitCount }
}

function nativeError(message: string, code: number): Error {
  return Object.assign(new Error(message), { code })
}

describe('the line of writes', () => {
  test('writes of one turn of the event loop share a commit, in order', async () => {
    const { write, committed, commitCount } = createEnvironment()
    expect(await Promise.all(['a', 'b', 'c'].map((line) => write(line)))).toEqual(['a', 'b', 'c'])
    expect(committed).toEqual(['a', 'b', 'c'])
    expect(commitCount()).toBe(1)
    await write('d')
    expect(commitCount()).toBe(2)
  })

  test('large writes are not heaped into one commit', async () => {
    const { write, commitCount } = createEnvironment()
    await Promise.all(['a', 'b', 'c'].map((line) => write(line, 20 * 1024 * 1024)))
    expect(commitCount()).toBe(3)
  })

  test('a write that throws is undone alone', async () => {
    const { write, writer, committed } = createEnvironment()
    const before = write('a')
    const failing = writer.run(1, () => {
      throw new RangeError('mine')
    })
    const after = write('b')
    await expect(failing).rejects.toThrow(RangeError)
    await Promise.all([before, after])
    expect(committed).toEqual(['a', 'b'])
  })

  test('an insert shares the commit of the writes beside it', async () => {
    const { write, insert, committed, commitCount } = createEnvironment()
    expect(await Promise.all([write('a'), insert('b'), write('c')])).toEqual(['a', 'b', 'c'])
    expect(committed.toSorted()).toEqual(['a', 'b', 'c'])
    expect(commitCount()).toBe(1)
  })

  test('an insert sees what those before it have stored, and is refused alone', async () => {
    const { write, insert, committed } = createEnvironment()
    const results = await Promise.allSettled([insert('a'), insert('a'), write('b'), insert('c')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(results[1]).toMatchObject({ reason: { code: 'exists' } })
    expect(committed).toEqual(['a', 'b', 'c'])
  })

  test('an insert that throws is refused alone', async () => {
    const { writer, write, committed } = createEnvironment()
    const failing = writer.insert(1, () => {
      throw nativeError('MDB_READERS_FULL', -30790)
    })
    const results = await Promise.allSettled([failing, write('a')])
    expect(results).toMatchObject([{ reason: { code: 'failed' } }, { value: 'a' }])
    expect(committed).toEqual(['a'])
  })

  test('a commit that fails rejects its insert too, and the next one works', async () => {
    const { faults, write, insert, committed } = createEnvironment()
    faults.commit = nativeError('Input/output error', 5)
    const results = await Promise.allSettled([insert('a'), write('b')])
    for (const result of results) expect(result).toMatchObject({ reason: { code: 'failed' } })
    faults.commit = undefined
    await insert('a')
    expect(committed).toEqual(['a'])
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

  test('the end of each commit is told, also of one that fails', async () => {
    const { faults, write, insert, commitsEnded } = createEnvironment()
    await Promise.all([write('a'), insert('b')])
    faults.commit = nativeError('Input/output error', 5)
    await expect(write('c')).rejects.toThrow()
    faults.commit = undefined
    await insert('c')
    expect(commitsEnded).toEqual([true, false, true])
  })

  test('the particular error behind a general one is the cause', async () => {
    const { faults, write } = createEnvironment()
    const cause = nativeError('No space left on device', 28)
    const commitError = Promise.reject(cause)
    commitError.catch(() => undefined)
    faults.commit = Object.assign(new Error('Commit failed'), { commitError })
    await expect(write('a')).rejects.toMatchObject({ code: 'full', cause })
  })

  test('a general error whose particular never comes does not hold up the line', async () => {
    const { faults, write } = createEnvironment()
    faults.commit = Object.assign(new Error('Commit failed'), { commitError: new Promise(() => undefined) })
    await expect(write('a')).rejects.toMatchObject({ code: 'failed', cause: faults.commit as Error })
  })

  test('an I/O error on a full disk is called full', async () => {
    const { faults, write } = createEnvironment()
    faults.commit = nativeError('Input/output error', 5)
    faults.diskBytesFree = 4096
    await expect(write('a')).rejects.toMatchObject({ code: 'full' })
  })

  test('after a failure that the environment does not survive, no write is begun any more', async () => {
    const { faults, write, commitCount } = createEnvironment()
    await write('a')
    faults.commit = nativeError('Input/output error', 5)
    faults.probe = nativeError('MDB_PANIC', -30795)
    const results = await Promise.allSettled([write('b', 30e6), write('c', 30e6)])
    expect(results[1]).toMatchObject({ reason: { code: 'failed', cause: faults.probe as Error } })
    faults.commit = undefined
    await expect(write('d')).rejects.toThrow('needs a restart')
    expect(commitCount()).toBe(1)
  })

  test('a write past the bound of the store is refused, and a later one that fits is taken', async () => {
    const { faults, write, committed } = createEnvironment()
    faults.bytesInUse = 1e9 - 10
    await expect(write('a')).rejects.toMatchObject({ code: 'full' })
    faults.bytesInUse = 0
    await write('b')
    expect(committed).toEqual(['b'])
  })

  test('idle waits for everything in the line', async () => {
    const { writer, write, committed } = createEnvironment()
    void write('a', 30e6)
    void write('b', 30e6)
    await writer.idle()
    expect(committed).toEqual(['a', 'b'])
    await writer.idle()
  })
})
