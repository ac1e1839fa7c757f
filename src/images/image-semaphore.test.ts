/**
 * The limits of image work, and what happens past them.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import { ImageSemaphore } from './index.js'

interface Job {
  readonly name: string
  finish: () => void
  readonly done: Promise<string>
}

/** Starts jobs that the test finishes; `started` lists those that run. */
function createJobs(semaphore: ImageSemaphore) {
  const started: string[] = []
  const begin = (name: string, bytes = 1): Job => {
    const job: { name: string; finish: () => void } = { name, finish: () => undefined }
    const end = new Promise<void>((resolve) => (job.finish = resolve))
    const done = semaphore.run(bytes, async () => {
      started.push(name)
      await end
      return name
    })
    return Object.assign(job, { done })
  }
  return { started, begin }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('at most the limit is processed at a time, and the others follow in order', async () => {
  const { started, begin } = createJobs(new ImageSemaphore(Infinity))
  const jobs = ['a', 'b', 'c', 'd'].map((name) => begin(name))
  await turn()
  expect(started).toEqual(['a', 'b'])
  jobs[1]?.finish()
  await turn()
  expect(started).toEqual(['a', 'b', 'c'])
  for (const job of jobs) job.finish()
  expect(await Promise.all(jobs.map((job) => job.done))).toEqual(['a', 'b', 'c', 'd'])
})

test('past the bytes that may wait, an upload is refused, and later ones are accepted again', async () => {
  const semaphore = new ImageSemaphore(2_000_000)
  const { started, begin } = createJobs(semaphore)
  const active = [begin('a', 5_000_000), begin('b', 5_000_000)]
  const waiting = begin('c', 1_900_000)
  await expect(begin('d', 1_000_000).done).rejects.toMatchObject({ kind: 'unavailable', retryAfterS: 1 })
  for (const { finish } of [...active, waiting]) finish()
  await Promise.all([...active, waiting].map(({ done }) => done))
  const later = [begin('e', 1_000_000), begin('f', 1_900_000)]
  for (const { finish } of later) finish()
  await Promise.all(later.map(({ done }) => done))
  expect(started).toEqual(['a', 'b', 'c', 'e', 'f'])
})

test('an upload that waits counts 16 KiB besides its body, up to the last byte of the limit', async () => {
  const semaphore = new ImageSemaphore(2 * (1000 + 16 * 1024))
  const { begin } = createJobs(semaphore)
  const jobs = ['a', 'b', 'c'].map((name) => begin(name, 1000))
  expect(() => semaphore.refuseIfFull(1001)).toThrow('too many images are waiting')
  jobs.push(begin('d', 1000))
  for (const job of jobs) job.finish()
  expect(await Promise.all(jobs.map((job) => job.done))).toEqual(['a', 'b', 'c', 'd'])
})

test('an upload that would wait too long is refused with Retry-After, but 16 may always wait', async () => {
  const semaphore = new ImageSemaphore(Infinity)
  // An image that takes 300 milliseconds of the mocked clock.
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  await semaphore.run(1, () => {
    nowMs = 300
    return Promise.resolve()
  })
  const { begin } = createJobs(semaphore)
  const jobs = Array.from({ length: 18 }, () => begin('slow'))
  await expect(begin('one too many').done).rejects.toMatchObject({ kind: 'unavailable', retryAfterS: 5 })
  expect(() => semaphore.refuseIfFull(1)).toThrow('too many images are waiting')
  for (const job of jobs) job.finish()
  await Promise.all(jobs.map((job) => job.done))
  expect(() => semaphore.refuseIfFull(1)).not.toThrow()
})

test('half a second of waiting is accepted, and more is refused', async () => {
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  const semaphore = new ImageSemaphore(Infinity)
  await semaphore.run(1, () => {
    nowMs = 25
    return Promise.resolve()
  })
  const { begin } = createJobs(semaphore)
  // Two are processed, and twenty of 25 milliseconds wait before the last one.
  const jobs = Array.from({ length: 2 + 20 + 1 }, () => begin('slow'))
  await expect(begin('one too many').done).rejects.toMatchObject({ kind: 'unavailable' })
  for (const job of jobs) job.finish()
  await Promise.all(jobs.map((job) => job.done))
})

test('Retry-After counts the time between completions: images processed in parallel do not double it', async () => {
  const semaphore = new ImageSemaphore(Infinity)
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  onTestFinished(() => clock.mockRestore())
  const { begin } = createJobs(semaphore)
  const parallel = [begin('a'), begin('b')]
  await turn()
  // One is completed every 300 milliseconds.
  for (const job of parallel) {
    nowMs += 300
    job.finish()
    await job.done
  }
  const jobs = Array.from({ length: 18 }, () => begin('slow'))
  // 16 wait: 4.8 seconds.
  await expect(begin('one too many').done).rejects.toMatchObject({ kind: 'unavailable', retryAfterS: 5 })
  for (const job of jobs) job.finish()
  await Promise.all(jobs.map((job) => job.done))
})

test('an upload that is aborted while it waits no longer counts', async () => {
  const semaphore = new ImageSemaphore(Infinity)
  const { begin } = createJobs(semaphore)
  const active = [begin('a'), begin('b')]
  const client = new AbortController()
  const waiting = semaphore.run(1_000_000, () => Promise.resolve(), client.signal)
  expect(semaphore.waitingBytes).toBeGreaterThan(1_000_000)
  client.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  expect([semaphore.waitingBytes, semaphore.count]).toEqual([0, 2])
  for (const { finish } of active) finish()
  await Promise.all(active.map(({ done }) => done))
})

test('work that fails releases its slot', async () => {
  const semaphore = new ImageSemaphore(Infinity)
  const failing = [1, 2].map(() => semaphore.run(1, () => Promise.reject(new RangeError('mine'))))
  const next = semaphore.run(1, () => Promise.resolve('next'))
  for (const work of failing) await expect(work).rejects.toThrow(RangeError)
  expect(await next).toBe('next')
})

test('a lower limit of the bytes that may wait refuses new uploads, and lets waiting ones continue', async () => {
  const semaphore = new ImageSemaphore(Infinity)
  const { started, begin } = createJobs(semaphore)
  const jobs = ['a', 'b', 'c', 'd'].map((name) => begin(name, 1_000_000))
  semaphore.waitingBytesMax = 2_500_000
  await expect(begin('e', 1_000_000).done).rejects.toMatchObject({ kind: 'unavailable' })
  for (const job of jobs) job.finish()
  await Promise.all(jobs.map((job) => job.done))
  expect(started).toEqual(['a', 'b', 'c', 'd'])
})
