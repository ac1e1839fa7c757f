/**
 * Messages between processes: headers arrive wherever the stream cuts them, payloads through a file that either side may
 * damage.
 */
import fc from 'fast-check'
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ChildMessages, lineOf, LineReader, PayloadFile } from './messages.js'

test('headers arrive complete and in order, wherever the stream is split', () => {
  const header = fc.record({ kind: fc.string({ unit: 'binary' }), count: fc.nat() })
  fc.assert(
    fc.property(
      fc.array(header, { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      (headers, cuts) => {
        const bytes = Buffer.from(headers.map((each) => lineOf({ header: each, parts: [] })).join(''))
        const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
        const reader = new LineReader()
        let start = 0
        const received = [...ends, bytes.length].flatMap((end) => {
          const chunk = bytes.subarray(start, end)
          start = end
          return reader.take(chunk)
        })
        expect(received).toEqual(headers.map((each) => ({ ...each, lengths: [] })))
      },
    ),
  )
})

test.each(['Segmentation fault\n', 'null\n', '7\n'])(
  '%j, which a library might print, is refused',
  (text) => {
    expect(() => new LineReader().take(Buffer.from(text))).toThrow(
      `${JSON.stringify(text.trim())} is not a message`,
    )
  },
)

test('a line without an end is refused at a limit of its length', () => {
  const [reader, chunk] = [new LineReader(), Buffer.alloc(64 * 1024, 'x')]
  for (let chunks = 0; chunks < 64; chunks++) expect(reader.take(chunk)).toEqual([])
  expect(() => reader.take(Buffer.from('x'))).toThrow(
    '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is not a message',
  )
})

test('parts of a header are kept although the memory that they arrived in is reused', () => {
  const reader = new LineReader()
  const memory = Buffer.from('{"kind":')
  expect(reader.take(memory)).toEqual([])
  memory.fill('#')
  expect(reader.take(Buffer.from('"done"}\n'))).toEqual([{ kind: 'done' }])
})

test('the file of payloads is private and has no name', () => {
  const { mode, nlink } = fstatSync(payloadFile().descriptor)
  expect([mode & 0o777, nlink]).toEqual([0o600, 0])
})

test('a payload is read as it was written, even after a longer one', () => {
  const file = payloadFile()
  const memory = Buffer.alloc(1_000_000)
  for (const payload of [new Uint8Array(1_000_000).fill(7), Uint8Array.of(1, 2, 3), new Uint8Array(0)]) {
    file.write([payload])
    expect(Buffer.compare(file.read([payload.length])[0]!, payload)).toBe(0)
    const [reused] = file.read([payload.length], (bytes) => memory.subarray(0, bytes))
    expect(Buffer.compare(reused!, payload)).toBe(0)
  }
})

test('a truncated payload is an error, and the next one is complete', () => {
  const file = payloadFile()
  const parts = [Uint8Array.of(1, 2, 3), Uint8Array.of(4)]
  file.write(parts)
  ftruncateSync(file.descriptor, 1)
  expect(() => file.read([3, 1])).toThrow('the file of payloads ends after 1 of 4 bytes')
  file.write(parts)
  expect(file.read([3, 1]).map((part) => [...part])).toEqual([[1, 2, 3], [4]])
})

test.each<unknown>([[-1], [NaN], ['x'], [2 ** 30, 1], undefined, null, 4])('bad lengths: %j', (lengths) => {
  expect(() => payloadFile().read(lengths as number[])).toThrow('are not lengths')
})

test('a child receives one message after the other, and null at the end of the stream, even within a message', () => {
  const file = payloadFile()
  file.write([Uint8Array.of(4, 5)])
  const line = lineOf(messageOf(Uint8Array.of(4, 5)))
  const messages = new ChildMessages(fileWith(`${line}{"kind":`), file.descriptor)
  const message = messages.next()!
  expect([message.header, [...message.parts[0]!]]).toEqual([{ kind: 'batch', lengths: [2] }, [4, 5]])
  expect(message.parts[0]!.byteOffset % 8).toBe(0)
  expect(messages.next()).toBeNull()
})

test('a child sends what the parent reads', () => {
  const path = join(temporaryDirectory(), 'headers')
  const descriptor = opened(path, 'w')
  const file = payloadFile()
  const messages = new ChildMessages(descriptor, file.descriptor)
  messages.write({ header: { kind: 'ready' }, parts: [] })
  messages.write(messageOf(Uint8Array.of(4, 5)))
  const headers = new LineReader().take(readFileSync(path))
  expect(headers).toEqual([
    { kind: 'ready', lengths: [] },
    { kind: 'batch', lengths: [2] },
  ])
  expect([...file.read([2])[0]!]).toEqual([4, 5])
})

function messageOf(payload: Uint8Array) {
  return { header: { kind: 'batch' }, parts: [payload] }
}

function payloadFile(): PayloadFile {
  const file = new PayloadFile()
  onTestFinished(() => file.close())
  return file
}

/** A file with this text, open for reading. */
function fileWith(text: string): number {
  const path = join(temporaryDirectory(), 'headers')
  writeFileSync(path, text)
  return opened(path, 'r')
}

function opened(path: string, flags: string): number {
  const descriptor = openSync(path, flags)
  onTestFinished(() => closeSync(descriptor))
  return descriptor
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-messages-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}
