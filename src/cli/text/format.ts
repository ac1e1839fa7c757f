/**
 * Numbers and times as all commands print them. An unknown value is a dash.
 */
import { cycleIdOf, kstText } from '../../contract/index.js'

/** 1234567 → 1,234,567 */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** `1 cycle`, `1,234 cycles` */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

export function number(value: number | null, digits = 3): string {
  return value === null ? '–' : value.toFixed(digits)
}

/** Formats a share: 0.5 is 50 %. */
export function percent(share: number | null, digits = 0): string {
  return share === null ? '–' : `${(100 * share).toFixed(digits)} %`
}

/** A span in minutes, from two hours on in hours. */
export function minutes(value: number | null): string {
  return value === null ? '–' : value >= 120 ? `${(value / 60).toFixed(1)} h` : `${Math.round(value)} min`
}

/** A duration, such as 12.3 ms. */
export function milliseconds(ms: number): string {
  return `${ms.toFixed(ms < 100 ? 1 : 0)} ms`
}

/** A time in Korea, as YYYY-MM-DD HH:MM. Takes an RFC 3339 time, or milliseconds since 1970. */
export function kstTime(time: string | number | null): string {
  return time === null
    ? '–'
    : cycleIdOf(new Date(time).getTime()).replace(/(..)(..)T(..)(..)$/, '-$1-$2 $3:$4')
}

/** A time in Korea with its seconds, as `2026-11-23 14:05:09 KST`. */
export function kstClock(time: string): string {
  return `${kstText(Date.parse(time)).slice(0, -'.mmm'.length).replace('T', ' ')} KST`
}
