/**
 * The log when it can be written and when it cannot.
 */
import { closeSync, openSync, readFileSync, rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { LogOutput } from './log-output.js'

const directory = mkdtempSync(join(tmpdir(), 'understudy-log-'))
afterAll(() => rmSync(directory, { recursive: true }))

type Done = (error: NodeJS.ErrnoException | null, written: number) => void

/** An output whose writes the test answers: `next` gives what is to be written, and the way to say what came of it. */
function createOutput() {
  const writes: { text: string; done: Done }[] = []
  const output = new LogOutput(9, (_, bytes, done) =>
    writes.push({ text: Buffer.from(bytes).toString(), done }),
  )
  const next = (): { text: string; done: Done } => {
    const write = writes.shift()
    if (write === undefined) throw new Error('nothing is written')
    return write
  }
  return { output, next, writes }
}

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code })

test('lines arrive in their order, whole, in a real file', async () => {
  const file = join(directory, 'log')
  const descriptor = openSync(file, 'w')
  const output = new LogOutput(descriptor)
  const lines = Array.from(
    { length: 5000 },
    (_, index) => `{"n":${index},"한글":"${'x'.repeat(index % 100)}"}\n`,
  )
  for (const line of lines) output.write(line)
  await output.drain(60_000)
  closeSync(descriptor)
  expect(readFileSync(file, 'utf8')).toBe(lines.join(''))
})

test.runIf(process.platform === 'linux')('a full device loses lines and does nothing else', async () => {
  const descriptor = openSync('/dev/full', 'w')
  const output = new LogOutput(descriptor)
  for (let index = 0; index < 100; index++) output.write('{"msg":"x"}\n')
  await output.drain(60_000)
  closeSync(descriptor)
})

test('lines that a failed write took are counted, and told before the next that is written', () => {
  const { output, next, writes } = createOutput()
  for (const line of ['a\n', 'b\n', 'c\n']) output.write(line)
  next().done(failure('EIO'), 0)
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

test('what one write leaves goes with the next, byte for byte', () => {
  const { output, next } = createOutput()
  output.write('한글\n')
  output.write('b\n')
  const first = next()
  first.done(null, 2)
  const rest = next()
  expect(rest.text).not.toContain('lost')
  rest.done(null, 5)
  expect(next().text).toBe('b\n')
})

test('a reader that stalls costs a bounded amount of memory, and what did not fit is counted', () => {
  const { output, next } = createOutput()
  const line = `${'x'.repeat(1023)}\n`
  for (let index = 0; index < 3000; index++) output.write(line)
  let lineCount = 0
  let told = ''
  for (let write = next(); ; write = next()) {
    told += write.text.match(/"lost":(\d+)/)?.[1] ?? ''
    lineCount += write.text.split('x\n').length - 1
    write.done(null, Buffer.byteLength(write.text))
    if (lineCount === 1025) break
  }
  expect(Number(told)).toBe(3000 - 1025)
})

test('draining gives up when its time has passed', async () => {
  const { output } = createOutput()
  output.write('a\n')
  await output.drain(1)
})
