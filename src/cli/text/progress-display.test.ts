/**
 * The progress display, on a target with a clock that the test sets.
 */
import { expect, test } from 'vitest'
import type { SimulationProgress } from '../../simulator/index.js'
import { ProgressDisplay, progressLine } from './progress-display.js'
import { cellWidth } from './text-table.js'

const redraw = '\r\x1b[2K'
const progress: SimulationProgress = {
  cycleAtMs: Date.parse('2026-03-01T15:05:00Z'),
  cycleIndex: 144,
  cycleCount: 288,
  pending: 1234,
  scored: 1200,
  postMs: { p50: 11, p99: 123.4 },
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

test('a line has the figures of the progress, and retries if there are any', () => {
  const line =
    '2026-03-02 00:05 KST  cycle 144/288  2.0/s  pending 1234  scored 1200  p50 11.0 ms  p99 123 ms  images 56'
  expect(progressLine(progress)).toBe(line)
  expect(progressLine({ ...progress, retries: 3 })).toBe(`${line}  retries 3`)
})

test('a terminal gets one line that is redrawn at most ten times a second and fits the window', () => {
  const { display, written, pass } = displayOn(true)
  display.update(progress)
  display.update(progress)
  pass(100)
  display.update(progress)
  expect(written).toHaveLength(2)
  for (const text of written) {
    expect(text.startsWith(redraw)).toBe(true)
    expect(cellWidth(text.slice(redraw.length))).toBeLessThan(60)
  }
})

test('a line leaves the last column of the window free, and loses its last figures for that', () => {
  const whole = progressLine(progress)
  for (const [columns, shown] of [
    [whole.length + 1, whole],
    [whole.length, whole.slice(0, whole.lastIndexOf('  '))],
  ] as const) {
    const written: string[] = []
    const write = (text: string): void => void written.push(text)
    new ProgressDisplay({ write, isTerminal: true, columns: () => columns, now: () => 0 }).update(progress)
    expect(written).toEqual([redraw + shown])
  }
})

test('other outputs get a whole line every three seconds', () => {
  const { display, written, pass } = displayOn(false)
  for (let second = 0; second <= 6; second++) {
    display.update(progress)
    pass(1000)
  }
  expect(written).toHaveLength(3)
  expect(written[2]).toBe(`${progressLine(progress)}\n`)
})

test.each([true, false])('the last progress is shown at the end; on a terminal: %j', (isTerminal) => {
  const { display, written } = displayOn(isTerminal)
  display.update(progress)
  display.update({ ...progress, cycleIndex: 288 })
  display.finish()
  expect(written.join('')).toContain('cycle 288/288')
  expect(written.at(-1)?.endsWith('\n')).toBe(true)
})

test('a terminal shows an outage immediately and updates its duration', () => {
  const { display, written, pass } = displayOn(true)
  display.update(progress)
  display.outage({ outageMs: 0, reason: 'status 503' })
  expect(written[1]).toContain('service unavailable for 0 s, retrying (status 503)')
  pass(5000)
  display.outage({ outageMs: 5000, reason: 'status 503' })
  expect(written[2]).toContain('service unavailable for 5 s')
  display.outage(null)
  expect(written[3]).toBe(`${redraw}the service is available again after 5 s\n`)
})

test('an outage before the first cycle is printed as lines if the output is not a terminal', () => {
  const { display, written, pass } = displayOn(false)
  display.outage({ outageMs: 1200, reason: 'status 503' })
  display.outage({ outageMs: 1300, reason: 'status 503' })
  pass(3000)
  display.outage({ outageMs: 4200, reason: 'status 503' })
  pass(1000)
  display.outage(null)
  expect(written).toEqual([
    'service unavailable for 1 s, retrying (status 503)\n',
    'service unavailable for 4 s, retrying (status 503)\n',
    'the service is available again after 5 s\n',
  ])
})
