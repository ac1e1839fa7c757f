/**
 * Frames between processes: what one side writes the other reads, however the pipe cuts it.
 */
import fc from 'fast-check'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BlockingFrames, FrameReader, frameOf, type Frame } from './frames.js'

/** Typed arrays come back as they were, also where they are a part of larger memory. */
const cloned = fc
  .oneof(
    fc.double(),
    fc.float32Array({ maxLength: 50 }).map((values) => ({ values: values.subarray(1) })),
    fc.array(fc.uint8Array({ maxLength: 30 })).map((records) => ({ records })),
  )
  .map((value): Frame => ({ value, format: 'clone' }))
const plain = fc
  .oneof(fc.record({ kind: fc.string(), count: fc.nat() }), fc.constant(null), fc.constant(''))
  .map((value): Frame => ({ value, format: 'json' }))

test('frames arrive complete and in their order, wherever the pieces of a pipe are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(cloned, plain), { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      (frames, cuts) => {
        const bytes = joined(frames)
        const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
        const reader = new FrameReader()
        let start = 0
        const found = [...ends, bytes.length].flatMap((end) => {
          const piece = bytes.subarray(start, end)
          start = end
          return reader.take(piece)
        })
        expect(found).toEqual(frames)
      },
    ),
  )
})

test('who waits for frames gets one after the other, large ones too, and null at the end', () => {
  const frames: Frame[] = [
    { value: { kind: 'open' }, format: 'json' },
    { value: new Float32Array(200_000).fill(1.5), format: 'clone' },
    { value: { kind: 'batch' }, format: 'json' },
  ]
  const waiting = new BlockingFrames(descriptorOf(joined(frames)))
  expect([waiting.next(), waiting.next(), waiting.next(), waiting.next()]).toEqual([...frames, null])
})

test('a frame that ends in its middle is none', () => {
  const bytes = joined([{ value: { kind: 'open' }, format: 'json' }])
  expect(new BlockingFrames(descriptorOf(bytes.subarray(0, -1))).next()).toBeNull()
})

test('what is no frame is refused, as when a library prints into the pipe', () => {
  expect(() => new FrameReader().take(Buffer.from('Segmentation fault\n'))).toThrow(
    '"Segmentation fault\\n" begins no message',
  )
})

function joined(frames: readonly Frame[]): Buffer {
  return Buffer.concat(frames.map(({ value, format }) => frameOf(value, format)))
}

/** A file with these bytes, open for reading. */
function descriptorOf(bytes: Buffer): number {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-frames-'))
  const file = join(directory, 'frames')
  writeFileSync(file, bytes)
  const descriptor = openSync(file, 'r')
  onTestFinished(() => {
    closeSync(descriptor)
    rmSync(directory, { recursive: true })
  })
  return descriptor
}
