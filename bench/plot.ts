/**
 * Scatter plots with axes from zero, for the terminal and as SVG.
 */
import type { Line } from './statistics.js'

export type Point = readonly [x: number, y: number]

const textWidth = 60
const textHeight = 16

/** A plot with one mark per point. Both axes start at zero. */
export function plotText(points: readonly Point[]): string {
  const xMax = Math.max(...points.map(([x]) => x))
  const yMax = niceCeiling(Math.max(...points.map(([, y]) => y)))
  const cells = Array.from({ length: textHeight }, () => new Array<string>(textWidth).fill(' '))
  for (const [x, y] of points) {
    const column = Math.round((x / xMax) * (textWidth - 1))
    const row = textHeight - 1 - Math.round((y / yMax) * (textHeight - 1))
    const line = cells[row]
    if (line !== undefined) line[column] = '●'
  }
  const lines = cells.map((line, row) => {
    const label = row % 5 === 0 ? trimmed(yMax * (1 - row / (textHeight - 1))) : ''
    return `${label.padStart(7)} │${line.join('').trimEnd()}`
  })
  return [...lines, `${' '.repeat(7)} └${'─'.repeat(textWidth)} ${xMax} rows`].join('\n')
}

const width = 720
const height = 400
const frame = { left: 64, right: 24, top: 24, bottom: 64 }

/** Rows against milliseconds with the fitted line. `origin`: commit and machine of the figures. */
export function plotSvg(points: readonly Point[], line: Line, origin: string): string {
  const xMax = Math.max(...points.map(([x]) => x))
  const yMax = niceCeiling(Math.max(...points.map(([, y]) => y)))
  const toX = (x: number): string => (frame.left + (x / xMax) * (width - frame.left - frame.right)).toFixed(1)
  const toY = (y: number): string =>
    (height - frame.bottom - (y / yMax) * (height - frame.top - frame.bottom)).toFixed(1)
  const grid = Array.from({ length: 6 }, (_, tick) => {
    const x = (xMax * tick) / 5
    const y = (yMax * tick) / 5
    return [
      `<line x1="${toX(0)}" x2="${toX(xMax)}" y1="${toY(y)}" y2="${toY(y)}" stroke="#ddd"/>`,
      `<text x="${frame.left - 8}" y="${toY(y)}" text-anchor="end" dominant-baseline="middle">${trimmed(y)}</text>`,
      `<text x="${toX(x)}" y="${height - frame.bottom + 18}" text-anchor="middle">${trimmed(x)}</text>`,
    ].join('\n')
  })
  const marks = points.map(([x, y]) => `<circle cx="${toX(x)}" cy="${toY(y)}" r="4" fill="#1f6feb"/>`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#333">`,
    '<title>Median time of a cycle by pending posts</title>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...grid,
    `<line x1="${toX(0)}" y1="${toY(line.intercept)}" x2="${toX(xMax)}" y2="${toY(line.intercept + line.slope * xMax)}" stroke="#cf222e" stroke-dasharray="6 4"/>`,
    ...marks,
    `<text x="${frame.left}" y="${frame.top - 9}">median cycle in ms; ${(line.slope * 1000).toFixed(2)} µs per row + ${line.intercept.toFixed(2)} ms, r² ${line.r2.toFixed(3)}</text>`,
    `<text x="${width - frame.right}" y="${height - frame.bottom + 36}" text-anchor="end">pending posts, a tenth of them new</text>`,
    `<text x="${frame.left}" y="${height - 8}" fill="#777">${escapeXml(origin)}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

/** The next number of the form 1, 1.5, 2, 3, 4, 5, 6, 8 or 10 times a power of ten. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((candidate) => candidate * power >= value)
  return (step ?? 10) * power
}

function trimmed(value: number): string {
  return String(Number(value.toPrecision(3)))
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
