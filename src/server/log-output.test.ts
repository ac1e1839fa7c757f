/**
 * The log when it can be written and when it cannot.
 */
import { closeSync, openSync, readFileSync, rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { LogOutput } from './log-output.js'

const directory = mkdtempSync(join(tmpdir(), 'understudy-log-'))
afterAll(() => rmSync(directory, { recursive: true }))

type Done = (error: NodeJS.ErrnoException | null, written: number) => void

let fakeWrite: ((bytes: Uint8Array, done: Done) => void) | null = null

vi.mock(import('node:fs'), async (original) => {
  const real = await original()
  const write = (descriptor: number, bytes: Uint8Array, done: Done): void =>
    fakeWrite === null ? real.write(descriptor, bytes, done) : fakeWrite(bytes, done)
  return { ...real, write: write as typeof real.write }
})

/** An output whose writes are held: `next` resolves with the text of the next one and the function that completes it. */
function createOutput() {
  const writes: { text: string; done: Done }[] = []
  fakeWrite = (bytes, done) => void writes.push({ text: Buffer.from(bytes).toString(), done })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => {
    fakeWrite = null
    vi.useRealTimers()
  })
  const output = new LogOutput(9)
  const next = (): { text: string; done: Done } => {
    vi.runOnlyPendingTimers()
    const write = writes.shift()
    if (write === undefined) throw new Error('nothing is written')
    return write
  }
  return { output, next, writes }
}

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code })

test('complete lines are written in order to a real file', async () => {
  const file = join(directory, 'log')
  const descriptor = openSync(file, 'w')
  const output = new LogOutput(descriptor)
  const lines = Array.from(
    { length: 5000 },
    (_, index) => `{"n":${index},"한글":"${'x'.repeat(index % 100)}"}\n`,
  )
  for (const line of lines) output.write(line)
  await output.drain(5000)
  closeSync(descriptor)
  expect(readFileSync(file, 'utf8')).toBe(lines.join(''))
})

test.runIf(process.platform === 'linux')('a full device loses lines and has no other effect', async () => {
  const descriptor = openSync('/dev/full', 'w')
  const output = new LogOutput(descriptor)
  for (let index = 0; index < 100; index++) output.write('{"msg":"x"}\n')
  await output.drain(5000)
  closeSync(descriptor)
})

test('lines that follow each other are one write, and so are those that arrive during a write', () => {
  const { output, next, writes } = createOutput()
  for (const line of ['a\n', 'b\n']) output.write(line)
  expect(writes).toEqual([])
  const first = next()
  expect(first.text).toBe('a\nb\n')
  for (const line of ['c\n', 'd\n']) output.write(line)
  first.done(null, 4)
  expect(writes).toEqual([])
  expect(next().text).toBe('c\nd\n')
})

test('lines of a failed write are counted, and the next write begins with their number', () => {
  const { output, next, writes } = createOutput()
  output.write('a\n')
  const first = next()
  for (const line of ['b\n', 'c\n']) output.write(line)
  first.done(failure('EIO'), 0)
  // a is lost; b and c were waiting and go together.
  const second = next()
  expect(second.text).toMatch(
    /^\{"level":40,"time":"[^"]+","lost":1,"msg":"lines of the log were lost"\}\nb\nc\n$/,
  )
  second.done(failure('ENOSPC'), 0)
  expect(writes).toEqual([])
  output.write('d\n')
  const third = next()
  expect(third.text).toMatch(/"lost":3,.*\nd\n$/)
  third.done(null, Buffer.byteLength(third.text))
  output.write('e\n')
  expect(next().text).toBe('e\n')
})

test('a short write is continued, byte for byte', () => {
  const { output, next } = createOutput()
  output.write('한글\n')
  const first = next()
  output.write('b\n')
  first.done(null, 2)
  const rest = next()
  expect(rest.text).not.toContain('lost')
  rest.done(null, 5)
  expect(next().text).toBe('b\n')
})

test('a reader that stalls causes a bounded use of memory, and lines that do not fit are counted', () => {
  const { output, next } = createOutput()
  const line = `${'x'.repeat(1023)}\n`
  output.write(line)
  const first = next()
  expect(first.text).toBe(line)
  for (let index = 1; index < 3000; index++) output.write(line)
  first.done(null, 1024)
  const second = next()
  const lost = Number(/"lost":(\d+)/.exec(second.text)?.[1])
  expect(second.text.split('x\n').length - 1).toBe(3000 - 1 - lost)
  expect(Buffer.byteLength(second.text)).toBeLessThan(600 * 1024)
  second.done(null, Buffer.byteLength(second.text))
  output.write('y\n')
  expect(next().text).toBe('y\n')
})

test('512 KiB of lines wait, and not a byte more', () => {
  for (const [bytes, lostCount] of [
    [512 * 1024, 0],
    [512 * 1024 + 1, 1],
  ] as const) {
    const { output, next } = createOutput()
    output.write('a\n')
    const first = next()
    const half = 256 * 1024
    for (const size of [half, bytes - half]) output.write(`${'x'.repeat(size - 1)}\n`)
    first.done(null, 2)
    expect(Number(/"lost":(\d+)/.exec(next().text)?.[1] ?? 0)).toBe(lostCount)
  }
})

test('draining stops at its time limit', async () => {
  const { output } = createOutput()
  output.write('a\n')
  await output.drain(1)
})
