import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EventStreams } from './event-streams.js'

class FakeResponse extends EventEmitter {
  text = ''
  destroyed = false
  isReading = true
  get writableLength(): number {
    return this.isReading ? 0 : this.text.length
  }
  writeHead(): this {
    return this
  }
  write(text: string): void {
    this.text += text
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function opened(streams: EventStreams): FakeResponse {
  const response = new FakeResponse()
  streams.open()(response as unknown as ServerResponse)
  return response
}

test('every stream receives each event once, in order', async () => {
  const streams = new EventStreams()
  const responses = Array.from({ length: 60 }, () => opened(streams))
  streams.send('cycle', { n: 1 })
  streams.send('call', { n: 2 })
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  const text = 'retry: 2000\n\nevent: cycle\ndata: {"n":1}\n\nevent: call\ndata: {"n":2}\n\n'
  expect(new Set(responses.map((response) => response.text))).toEqual(new Set([text]))
  streams.close()
  expect(streams.count).toBe(0)
})

test('a reader that is too slow is closed, and the others go on', async () => {
  const streams = new EventStreams()
  const [slow, fast] = [opened(streams), opened(streams)]
  slow.isReading = false
  for (let round = 0; round < 40; round++) {
    streams.send('call', { text: 'x'.repeat(10_000) })
    await nextTurn()
  }
  expect({ slow: slow.destroyed, fast: fast.destroyed }).toEqual({ slow: true, fast: false })
  expect(slow.text.length).toBeLessThan(300_000)
  expect(streams).toMatchObject({ count: 1, droppedCount: 1 })
  streams.close()
})

test('at most 100 streams are open, and a closed one makes room', () => {
  const streams = new EventStreams()
  const responses = Array.from({ length: 100 }, () => opened(streams))
  expect(() => streams.open()).toThrow('too many event streams')
  responses[0]?.destroy()
  opened(streams)
  streams.close()
})

test('events that come faster than they are written are replaced by one that says so', async () => {
  const streams = new EventStreams()
  const response = opened(streams)
  for (let n = 0; n < 101; n++) streams.send('call', { n })
  await nextTurn()
  expect(response.text).toBe('retry: 2000\n\nevent: reset\ndata: {}\n\n')
  streams.close()
})
