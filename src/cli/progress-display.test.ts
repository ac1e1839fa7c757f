/**
 * The progress display, on a target with a clock that the test sets.
 */
import { expect, test } from 'vitest'
import type { SimulationProgress } from '../simulator/index.js'
import { grouped, kstTime, progressBlock, ProgressDisplay, progressLine } from './progress-display.js'
import { cellWidth } from './text-table.js'

const progress: SimulationProgress = {
  cycleId: '20260302T0005',
  cycleAtMs: Date.parse('2026-03-01T15:05:00Z'),
  cycleIndex: 144,
  cycleCount: 288,
  pending: 1234,
  scored: 1200,
  postMs: { last: 12.34, p50: 11, p99: 123.4 },
  imagesUploaded: 56,
  retries: 0,
  wallMs: 72_000,
}

/** A display that writes into a list, with a clock that only `pass` moves. */
function displayOn(isTerminal: boolean): {
  display: ProgressDisplay
  written: string[]
  pass: (ms: number) => void
} {
  const written: string[] = []
  let nowMs = 0
  const display = new ProgressDisplay({
    write: (text) => void written.push(text),
    isTerminal,
    columns: () => 60,
    now: () => nowMs,
  })
  return { display, written, pass: (ms) => (nowMs += ms) }
}

test('simulated time is shown in Korean time', () => {
  expect(kstTime(progress.cycleAtMs)).toBe('2026-03-02 00:05')
  expect(grouped(1234567)).toBe('1,234,567')
})

test('a line contains every number of the progress', () => {
  expect(progressLine(progress)).toBe(
    '2026-03-02 00:05 KST  cycle 144/288  pending 1234  scored 1200  images 56  ' +
      'latency last 12.3 ms p50 11.0 ms p99 123 ms  2.0 cycles/s',
  )
})

test('the bar is half full at half of the cycles', () => {
  expect(progressBlock(progress).join('\n')).toContain(`${'█'.repeat(15)}${'░'.repeat(15)} 144 of 288`)
})

test('a terminal gets a block that overwrites the previous one, at most ten times a second', () => {
  const { display, written, pass } = displayOn(true)
  display.update(progress)
  display.update(progress)
  pass(100)
  display.update(progress)
  const height = progressBlock(progress).length
  expect(written).toHaveLength(2)
  expect(written[0]).not.toContain(`\x1b[${height}A`)
  expect(written[1]?.startsWith(`\x1b[${height}A`)).toBe(true)
})

test('no line of a block is wider than the window, so that a redraw overwrites all of it', () => {
  const { display, written } = displayOn(true)
  display.update({ ...progress, cycleIndex: 1_000_000, cycleCount: 1_000_000 })
  const lines = (written[0] ?? '').replaceAll('\x1b[2K', '').split('\n')
  for (const line of lines) expect(cellWidth(line)).toBeLessThan(60)
})

test('other outputs get a line every three seconds, without control characters', () => {
  const { display, written, pass } = displayOn(false)
  for (let second = 0; second <= 6; second++) {
    display.update(progress)
    pass(1000)
  }
  expect(written).toHaveLength(3)
  expect(written[2]).toBe(`${progressLine(progress)}\n`)
})

test('a block shows retries', () => {
  expect(progressBlock(progress).join('\n')).not.toContain('retries')
  expect(progressBlock({ ...progress, retries: 3 }).join('\n')).toContain('retries         3')
})

test('the end shows the last report, however soon it follows', () => {
  const { display, written } = displayOn(false)
  display.update(progress)
  display.update({ ...progress, cycleIndex: 288 })
  display.finish()
  expect(written).toHaveLength(2)
  expect(written[1]).toContain('cycle 288/288')
})

test('an outage is shown at once, its duration is updated, and its line disappears when the service responds', () => {
  const { display, written, pass } = displayOn(true)
  display.update(progress)
  display.refresh()
  expect(written).toHaveLength(1)
  display.outage({ outageMs: 0, reason: 'status 503' })
  expect(written[1]).toContain('service unavailable for 0 s, retrying (status 503)')
  pass(5000)
  display.refresh()
  expect(written[2]).toContain('service unavailable for 5 s')
  display.outage(null)
  expect(written[3]).not.toContain('unavailable')
  expect(written[3]?.startsWith(`\x1b[${progressBlock(progress).length + 1}A`)).toBe(true)
  expect(written[3]?.endsWith('\x1b[J')).toBe(true)
})

test('an outage before the first cycle is shown too, as lines where the output is not a terminal', () => {
  const { display, written, pass } = displayOn(false)
  display.outage({ outageMs: 1200, reason: 'status 503' })
  display.outage({ outageMs: 1300, reason: 'status 503' })
  pass(3000)
  display.refresh()
  pass(1000)
  display.outage(null)
  expect(written).toEqual([
    'service unavailable for 1 s, retrying (status 503)\n',
    'service unavailable for 4 s, retrying (status 503)\n',
    'the service is available again after 5 s\n',
  ])
})
