/**
 * Frames between processes: one side reads what the other writes, wherever the stream cuts it.
 */
import fc from 'fast-check'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  BlockingFrames,
  FrameReader,
  FrameWriter,
  withoutPayload,
  type Frame,
  type Message,
} from './frames.js'

interface Sent {
  readonly header: object
  readonly payload: Uint8Array
}

const sent = fc.record({
  header: fc.record({ kind: fc.string({ unit: 'binary' }), count: fc.nat() }),
  payload: fc.uint8Array({ maxLength: 60 }),
})

test('frames arrive complete and in their order, wherever the stream is cut', () => {
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 20 }), (messages, cuts) => {
      const bytes = joined(messages)
      const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
      const reader = new FrameReader()
      let start = 0
      const found = [...ends, bytes.length].flatMap((end) => {
        const chunk = bytes.subarray(start, end)
        start = end
        return reader.take(chunk)
      })
      expect(found.map(copied)).toEqual(messages)
      expect(found.every(({ payload }) => payload.byteOffset % 8 === 0)).toBe(true)
    }),
  )
})

test('a blocking reader gets one frame after the other, large ones too, and null at the end', () => {
  const messages: Sent[] = [
    { header: { kind: 'open' }, payload: new Uint8Array(0) },
    { header: { kind: 'batch' }, payload: new Uint8Array(1_000_000).fill(7) },
    { header: { kind: 'batch', text: '글' }, payload: Uint8Array.of(1, 2, 3) },
  ]
  const frames = new BlockingFrames(descriptorOf(joined(messages)))
  for (const message of messages) {
    const frame = frames.next()!
    expect(frame.payload.byteOffset % 8).toBe(0)
    expect(copied(frame)).toEqual(message)
  }
  expect(frames.next()).toBeNull()
})

test('a frame that ends in its middle is the end', () => {
  const bytes = joined([{ header: { kind: 'open' }, payload: Uint8Array.of(1) }])
  for (const length of [3, 10, bytes.length - 1]) {
    expect(new BlockingFrames(descriptorOf(bytes.subarray(0, length))).next()).toBeNull()
  }
})

test('a blocking writer writes what a reader reads', () => {
  const file = join(temporaryDirectory(), 'frames')
  const descriptor = openSync(file, 'w')
  onTestFinished(() => closeSync(descriptor))
  const frames = new BlockingFrames(descriptor)
  frames.write(withoutPayload({ kind: 'ready' }))
  frames.write(messageOf({ header: { kind: 'done' }, payload: Uint8Array.of(4, 5) }))
  expect(new FrameReader().take(readFileSync(file)).map(copied)).toEqual([
    { header: { kind: 'ready' }, payload: new Uint8Array(0) },
    { header: { kind: 'done' }, payload: Uint8Array.of(4, 5) },
  ])
})

test('other bytes are refused, as when a library prints into the stream', () => {
  expect(() => new FrameReader().take(Buffer.from('Segmentation fault\n'))).toThrow(
    '"Segmentation fault\\n" does not begin a message',
  )
})

test('a message that is too large is refused before it is laid out', () => {
  const tooLarge = { ...withoutPayload({}), payloadBytes: 2 ** 30 + 1 }
  expect(() => new FrameWriter().frame(tooLarge)).toThrow(RangeError)
})

function messageOf({ header, payload }: Sent): Message {
  return { header, payloadBytes: payload.length, write: (target) => target.set(payload) }
}

function joined(messages: readonly Sent[]): Buffer {
  const writer = new FrameWriter()
  return Buffer.concat(messages.map((message) => Buffer.from(writer.frame(messageOf(message)))))
}

function copied({ header, payload }: Frame): Sent {
  return { header, payload: Uint8Array.from(payload) }
}

/** A file with these bytes, open for reading. */
function descriptorOf(bytes: Buffer): number {
  const file = join(temporaryDirectory(), 'frames')
  writeFileSync(file, bytes)
  const descriptor = openSync(file, 'r')
  onTestFinished(() => closeSync(descriptor))
  return descriptor
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-frames-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}
