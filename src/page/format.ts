/**
 * How times, durations, numbers and sizes are written. Times are those of Korea (KST), wherever the reader is.
 */
import { dayMs, hourMs, minuteMs } from '../base/units.js'

export const timeZone = 'Asia/Seoul'
const parts = { timeZone, hourCycle: 'h23' } as const
const clockFormat = new Intl.DateTimeFormat('en-GB', { ...parts, hour: '2-digit', minute: '2-digit' })
const secondsFormat = new Intl.DateTimeFormat('en-GB', { ...parts, timeStyle: 'medium' })
/** Swedish dates are written as ISO 8601 writes them. */
const dayFormat = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
const integerFormat = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** `14:05` */
export function clock(time: string | number): string {
  return clockFormat.format(new Date(time))
}

/** `14:05:09` */
export function clockSeconds(time: string | number): string {
  return secondsFormat.format(new Date(time))
}

/** `2026-11-23` */
export function day(time: string | number): string {
  return dayFormat.format(new Date(time))
}

/** `2026-11-23 14:05:09` */
export function daySeconds(time: string): string {
  return `${day(time)} ${clockSeconds(time)}`
}

/** `2026-11-23 14:05` */
export function dayClock(time: string | number | null): string {
  return time === null ? '–' : `${day(time)} ${clock(time)}`
}

/** `20261123T1405` as `11-23 14:05`: ids of cycles are times of Korea. */
export function cycleLabel(cycleId: string): string {
  const [, month, date, hour, minute] = /^\d{4}(\d\d)(\d\d)T(\d\d)(\d\d)$/.exec(cycleId) ?? []
  return minute === undefined ? cycleId : `${month}-${date} ${hour}:${minute}`
}

/** `45 s`, `12 min`, `3 h 5 min`, `9 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return `${integer(Math.floor(hours / 24))} d`
}

/** One unit, for columns: `45 s`, `12 min`, `3.5 h`, `21 h`, `9 d`. */
export function age(ms: number): string {
  const hours = ms / hourMs
  if (hours < 1 || hours >= 48) return duration(ms)
  return `${hours < 10 ? hours.toFixed(1) : Math.round(hours)} h`
}

/** `45 s ago`; a time that lies ahead is `in 3 min`. */
export function ago(time: string | number, nowMs: number): string {
  const ms = nowMs - new Date(time).getTime()
  return ms < -minuteMs / 60 ? `in ${duration(-ms)}` : `${duration(ms)} ago`
}

/** `since 14:05 KST`, for what the service has counted since it started; undefined once that is a day or more. */
export function sinceStart(startedAt: string, nowMs: number): string | undefined {
  return nowMs - Date.parse(startedAt) < dayMs ? `since ${clock(startedAt)} KST` : undefined
}

/** `1,234`; null is a dash. */
export function integer(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : integerFormat.format(value)
}

/** Three significant digits: `1.23k`, `12.3k`, `1.2M`. */
export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  const size = Math.abs(value)
  if (size >= 1e6) return `${(value / 1e6).toFixed(size < 1e7 ? 1 : 0)}M`
  if (size >= 1e4) return `${(value / 1e3).toFixed(size < 1e5 ? 1 : 0)}k`
  return size < 10 && !Number.isInteger(value) ? value.toFixed(1) : integer(value)
}

/** A score or a head: `0.734`. */
export function score(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toFixed(3)
}

/** A correlation, a gain, an area: `0.734`. */
export function decimal(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? '–' : value.toFixed(digits)
}

/** `98.7 %` */
export function percent(share: number | null | undefined, digits = 1): string {
  return share === null || share === undefined ? '–' : `${(100 * share).toFixed(digits)} %`
}

/** A difference of two shares: `+6.6 pp`, in percentage points. */
export function points(difference: number | null): string {
  return difference === null ? '–' : `${formatSigned(100 * difference, 1)} pp`
}

/** The ends of an interval: `97.1 to 99.2`, or with their signs, `-1.2 to +3.4`. */
export function range([low, high]: readonly [number, number], unit: 'share' | 'points'): string {
  const text = (value: number): string =>
    unit === 'points' ? formatSigned(100 * value, 1) : (100 * value).toFixed(1)
  return `${text(low)} to ${text(high)}`
}

/** `+1.25`, `-0.30`, `0.00` */
export function formatSigned(value: number, digits: number): string {
  const text = value.toFixed(digits)
  if (Number(text) === 0) return text.replace('-', '')
  return value > 0 ? `+${text}` : text
}

/** `+1.2k/h`; an empty text if nothing changes. */
export function rate(perHour: number | null | undefined): string {
  return perHour ? `${perHour > 0 ? '+' : ''}${compact(perHour)}/h` : ''
}

/** A number of minutes as a duration. */
export function minutes(value: number | null): string {
  return value === null ? '–' : duration(value * minuteMs)
}

/** `12.3 ms`, `1.24 s` */
export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms === 0) return '0 ms'
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`
}

/** `1.4 GiB` */
export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined) return '–'
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [count, 0]
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1]
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit] ?? ''}`
}

/** An API identifier as readable text: `missing_title` as `missing title`. */
export function humanize(name: string): string {
  return name.replaceAll('_', ' ')
}

/** `1 call`, `1,234 calls` */
export function plural(count: number, noun: string): string {
  return `${integer(count)} ${noun}${count === 1 ? '' : 's'}`
}
