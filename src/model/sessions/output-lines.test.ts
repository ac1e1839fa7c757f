/** What a child process prints: whole lines, bounded in length, number and memory; the rest is counted, byte for byte. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { OutputLines } from './output-lines.js'

let lines: string[]
let dropped: number[]
let output: OutputLines

beforeEach(() => {
  lines = []
  dropped = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  output = new OutputLines({
    onLine: (line) => lines.push(line),
    onDropped: (bytes) => dropped.push(bytes),
  })
})

function print(text: string): void {
  output.take(Buffer.from(text))
}

test('a line is passed on when its line feed arrives, in whatever pieces', () => {
  print('one\ntw')
  expect(lines).toEqual(['one'])
  print('o\n\n  \nthree')
  expect(lines).toEqual(['one', 'two'])
  output.end()
  expect(lines).toEqual(['one', 'two', 'three'])
  expect(dropped).toEqual([])
})

test('colours are removed', () => {
  print('\u001b[31mred\u001b[0m\n')
  expect(lines).toEqual(['red'])
})

test('a line is cut at 1,000 bytes, and the next one is whole', () => {
  print(`${'a'.repeat(999)}bcd\nnext\n`)
  expect(lines).toEqual([`${'a'.repeat(999)}b`, 'next'])
  output.end()
  expect(dropped).toEqual([2])
})

test('text without a line feed is dropped beyond one line, and the dropped bytes are counted', () => {
  for (let i = 0; i < 100; i++) print('x'.repeat(65_536))
  output.end()
  expect(lines).toEqual(['x'.repeat(1000)])
  expect(dropped).toEqual([100 * 65_536 - 1000])
})

test('50 lines are passed on in 10 s; then the loss is reported, and whole lines follow', () => {
  for (let i = 0; i < 51; i++) print(`line ${i}\n`)
  print('the middle of a l')
  expect(lines).toHaveLength(50)
  expect(dropped).toEqual([])
  vi.advanceTimersByTime(9_999)
  print('ine\nstill in the period\nand again the middle of a l')
  expect(lines).toHaveLength(50)
  vi.advanceTimersByTime(1)
  print('ine\nafter\n')
  expect(lines.slice(50)).toEqual(['after'])
  const before = 'line 50\n' + 'the middle of a line\nstill in the period\nand again the middle of a l'
  expect(dropped).toEqual([before.length])
})

test('the end of a line whose start was dropped is dropped too', () => {
  for (let i = 0; i < 50; i++) print('a\n')
  print('dropped')
  vi.advanceTimersByTime(10_000)
  print(' as well\nkept\n')
  output.end()
  expect(lines.slice(50)).toEqual(['kept'])
  expect(dropped).toEqual(['dropped'.length, ' as well'.length])
})

test('a process that prints without a line feed and falls silent is reported at the end of the period', () => {
  print('x'.repeat(5000))
  vi.advanceTimersByTime(9_999)
  expect([lines, dropped]).toEqual([[], []])
  vi.advanceTimersByTime(1)
  expect([lines, dropped]).toEqual([['x'.repeat(1000)], [4000]])
  print('the end of the cut line\nnext\n')
  expect(lines.slice(1)).toEqual(['next'])
  output.end()
  expect(dropped).toEqual([4000, 'the end of the cut line'.length])
})

test('an incomplete line is passed on at the end of the period, and its rest as a line of its own', () => {
  for (let i = 0; i < 49; i++) print(`line ${i}\n`)
  print('waiting')
  vi.advanceTimersByTime(10_000)
  expect(lines.slice(49)).toEqual(['waiting'])
  print(' done\n')
  output.end()
  expect(lines.slice(50)).toEqual([' done'])
  expect(vi.getTimerCount()).toBe(0)
})
