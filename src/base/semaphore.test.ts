/** Permits pass in order, and every end of a caller, at whatever moment, leaves no permit and no place taken. */
import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { abortable, Semaphore } from './semaphore.js'

const gone = new Error('the caller has gone')

test('at most the limit run at a time, the others follow in order, and those past the waiting limit are refused', async () => {
  const semaphore = new Semaphore(2, { waitingMax: 2, refusal: () => new Error('full') })
  const started: number[] = []
  const ends: (() => void)[] = []
  const run = (name: number): Promise<void> =>
    semaphore.run(() => {
      started.push(name)
      return new Promise((resolve) => ends.push(resolve))
    })
  const calls = [0, 1, 2, 3].map(run)
  await expect(run(4)).rejects.toThrow('full')
  expect([started, semaphore.count, semaphore.waitingCount]).toEqual([[0, 1], 4, 2])
  ends[1]?.()
  await calls[1]
  await Promise.resolve()
  expect(started).toEqual([0, 1, 2])
  while (started.length < 4) {
    ends.at(-1)?.()
    await new Promise(setImmediate)
  }
  for (const end of ends) end()
  await Promise.all(calls)
  expect([started, semaphore.count]).toEqual([[0, 1, 2, 3], 0])
})

test('a caller that is aborted while it waits leaves the queue; one whose work has begun ends with it', async () => {
  const semaphore = new Semaphore(1)
  const [running, waiting] = [new AbortController(), new AbortController()]
  let end = (): void => undefined
  const first = semaphore.run(
    () => new Promise<string>((resolve) => (end = () => resolve('done'))),
    running.signal,
  )
  const second = semaphore.run(() => Promise.resolve('never'), waiting.signal)
  const third = semaphore.run(() => Promise.resolve('third'))
  waiting.abort(gone)
  running.abort(gone)
  await expect(second).rejects.toBe(gone)
  expect(semaphore.count).toBe(2)
  end()
  expect(await Promise.all([first, third])).toEqual(['done', 'third'])
  await expect(semaphore.run(() => Promise.resolve(), waiting.signal)).rejects.toBe(gone)
  expect(semaphore.count).toBe(0)
})

test('each caller that is aborted leaves its own place: those before and after it stay in order', async () => {
  const semaphore = new Semaphore(1)
  const clients = [0, 1, 2, 3].map(() => new AbortController())
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
  const first = semaphore.run(() => ended)
  const started: number[] = []
  const waiting = clients.map((client, index) =>
    semaphore.run(() => Promise.resolve(void started.push(index)), client.signal).catch(() => undefined),
  )
  clients[2]?.abort(gone)
  clients[1]?.abort(gone)
  end(undefined)
  await Promise.all([first, ...waiting])
  expect(started).toEqual([0, 3])
})

test('a caller that is aborted when its work has begun after a wait takes no other out of the queue', async () => {
  const semaphore = new Semaphore(1)
  const client = new AbortController()
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
  const first = semaphore.run(() => ended)
  const second = semaphore.run(() => {
    client.abort(gone)
    return Promise.resolve(semaphore.waitingCount)
  }, client.signal)
  const third = semaphore.run(() => Promise.resolve('third'))
  end(undefined)
  await first
  expect(await second).toBe(1)
  expect(await third).toBe('third')
})

test('for any order of calls, ends, failures and aborts, the limit holds and nothing is held at the end', async () => {
  const step = fc.record({ call: fc.nat(7), action: fc.constantFrom('start', 'end', 'fail', 'abort') })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const semaphore = new Semaphore(2, { waitingMax: 3, refusal: () => new Error('full') })
      const calls = Array.from({ length: 8 }, () => ({
        client: new AbortController(),
        settle: null as ((failed: boolean) => void) | null,
        isStarted: false,
      }))
      let running = 0
      const done: Promise<unknown>[] = []
      for (const { call: index, action } of steps) {
        const call = calls[index]!
        if (action === 'abort') call.client.abort(gone)
        else if (action !== 'start') call.settle?.(action === 'fail')
        else if (!call.isStarted) {
          call.isStarted = true
          const work = async (): Promise<void> => {
            expect(++running).toBeLessThanOrEqual(2)
            const failed = await new Promise<boolean>((resolve) => (call.settle = resolve))
            running--
            if (failed) throw new Error('failed')
          }
          done.push(semaphore.run(work, call.client.signal).catch(() => undefined))
        }
        await new Promise(setImmediate)
      }
      const all = Promise.all(done)
      while (semaphore.count > 0) {
        for (const { settle } of calls) settle?.(false)
        await new Promise(setImmediate)
      }
      await all
      expect([running, semaphore.waitingCount]).toEqual([0, 0])
    }),
  )
})

test('an abortable promise settles as it would, unless it is aborted first', async () => {
  const client = new AbortController()
  expect(await abortable(Promise.resolve(1), client.signal)).toBe(1)
  await expect(abortable(Promise.reject(new Error('failed')), client.signal)).rejects.toThrow('failed')
  const pending = abortable(new Promise(() => undefined), client.signal)
  client.abort(gone)
  await expect(pending).rejects.toBe(gone)
  await expect(abortable(Promise.resolve(1), client.signal)).rejects.toBe(gone)
  expect(await abortable(Promise.resolve(2))).toBe(2)
  const other = new AbortController()
  await abortable(Promise.resolve(1), other.signal)
  await expect(abortable(Promise.reject(new Error('failed')), other.signal)).rejects.toThrow('failed')
  // A signal that outlives many promises keeps nothing of them.
  expect(getEventListeners(other.signal, 'abort')).toEqual([])
})
