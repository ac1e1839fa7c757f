/** What changes the pool, the weights and the model runs one at a time, in order, whatever fails or is given up. */
import { expect, test } from 'vitest'
import { SerialQueue, type WorkKind } from './serial-queue.js'

/** Work that ends when the test says so, and records when it starts. */
function controlledWork(started: string[], name: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const work = (): Promise<string> => {
    started.push(name)
    return promise
  }
  return { work, succeed: () => resolve(name), fail: () => reject(new Error(name)) }
}

/** One turn of the event loop: whatever can start has started. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

const counts = (queue: SerialQueue): number[] =>
  (['cycle', 'weights', 'model'] satisfies WorkKind[]).map((kind) => queue.count(kind))

test('work of all kinds runs one at a time in order, and goes on after a failure', async () => {
  const queue = new SerialQueue()
  const started: string[] = []
  const [first, second, third] = ['first', 'second', 'third'].map((name) => controlledWork(started, name))
  const calls = [
    queue.run('cycle', first!.work),
    queue.run('weights', second!.work),
    queue.run('model', third!.work),
  ]
  await turn()
  expect([started, counts(queue)]).toEqual([['first'], [1, 1, 1]])
  first!.fail()
  await expect(calls[0]).rejects.toThrow('first')
  await turn()
  expect([started, counts(queue)]).toEqual([
    ['first', 'second'],
    [0, 1, 1],
  ])
  second!.succeed()
  expect(await calls[1]).toBe('second')
  third!.succeed()
  expect(await calls[2]).toBe('third')
  expect(started).toEqual(['first', 'second', 'third'])
})

test('the queue is empty when nothing of any kind runs or waits', async () => {
  for (const kind of ['cycle', 'weights', 'model'] as const) {
    const queue = new SerialQueue()
    expect(queue.isEmpty).toBe(true)
    const { work, succeed } = controlledWork([], kind)
    const call = queue.run(kind, work)
    expect([queue.isEmpty, queue.count(kind)], kind).toEqual([false, 1])
    succeed()
    await call
    expect([queue.isEmpty, queue.count(kind)], kind).toEqual([true, 0])
  }
})

test('work whose caller has gone before its turn does not run, and counts no more', async () => {
  const queue = new SerialQueue()
  const started: string[] = []
  const running = controlledWork(started, 'running')
  const call = queue.run('cycle', running.work)
  const caller = new AbortController()
  const waiting = queue.run('cycle', controlledWork(started, 'waiting').work, caller.signal)
  caller.abort(new Error('the caller has gone'))
  await expect(waiting).rejects.toThrow('the caller has gone')
  expect(queue.count('cycle')).toBe(1)
  running.succeed()
  await call
  expect(started).toEqual(['running'])
})

test('drained waits for what was added before it, and for nothing that comes later', async () => {
  const queue = new SerialQueue()
  const [before, after] = [controlledWork([], 'before'), controlledWork([], 'after')]
  let isDrained = false
  const earlier = queue.run('cycle', before.work)
  const drained = queue.drained().then(() => (isDrained = true))
  const later = queue.run('cycle', after.work)
  await turn()
  expect(isDrained).toBe(false)
  before.succeed()
  await earlier
  await drained
  expect(queue.count('cycle')).toBe(1)
  after.succeed()
  await later
})
