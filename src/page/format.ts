/**
 * How times, durations, numbers and sizes are written in the reader's language. Times are those of Korea (KST), wherever the
 * reader is. Missing values are a dash.
 */
import { dayMs, minuteMs } from '../base/units.js'
import { language, t, type Language } from './messages/index.js'

export const timeZone = 'Asia/Seoul'
const korea = { timeZone, hourCycle: 'h23' } as const
const dash = '–'

interface Formats {
  readonly number: (options: Intl.NumberFormatOptions) => Intl.NumberFormat
  readonly day: (time: Date) => string
  readonly monthDay: (time: Date) => string
}

/** Dates as ISO 8601 writes them, which Swedish dates are. */
const isoFormat = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
const formats: Readonly<Record<Language, Formats>> = { en: english(), ko: korean() }

function english(): Formats {
  return {
    number: numbersOf('en-US'),
    day: (time) => isoFormat.format(time),
    monthDay: (time) => isoFormat.format(time).slice('2026-'.length),
  }
}

function korean(): Formats {
  const date = { timeZone, month: 'numeric', day: 'numeric' } as const
  const [long, short] = [{ ...date, year: 'numeric' } as const, date].map(
    (options) => new Intl.DateTimeFormat('ko-KR', options),
  ) as [Intl.DateTimeFormat, Intl.DateTimeFormat]
  return {
    number: numbersOf('ko-KR'),
    day: (time) => long.format(time),
    monthDay: (time) => short.format(time),
  }
}

/** Making a format takes longer than using it. */
function numbersOf(locale: string): Formats['number'] {
  const made = new Map<string, Intl.NumberFormat>()
  return (options) => {
    const key = JSON.stringify(options)
    const known = made.get(key) ?? new Intl.NumberFormat(locale, options)
    made.set(key, known)
    return known
  }
}

const clockFormat = new Intl.DateTimeFormat('en-GB', { ...korea, hour: '2-digit', minute: '2-digit' })
const secondsFormat = new Intl.DateTimeFormat('en-GB', { ...korea, timeStyle: 'medium' })

/** `14:05` */
export function clock(time: string | number): string {
  return clockFormat.format(new Date(time))
}

/** `14:05:09` */
export function clockSeconds(time: string | number): string {
  return secondsFormat.format(new Date(time))
}

/** `2026-11-23`, `2026. 11. 23.` */
export function day(time: string | number): string {
  return formats[language].day(new Date(time))
}

/** `2026-11-23`, in each language. */
export function isoDay(time: string): string {
  return isoFormat.format(new Date(time))
}

/** `11-23`, `11. 23.` */
export function monthDay(time: string | number): string {
  return formats[language].monthDay(new Date(time))
}

/** `2026-11-23 14:05:09` */
export function daySeconds(time: string): string {
  return `${day(time)} ${clockSeconds(time)}`
}

/** `2026-11-23 14:05` */
export function dayClock(time: string | number | null): string {
  return time === null ? dash : `${day(time)} ${clock(time)}`
}

/** `20261123T1405` as `11-23 14:05`: ids of cycles are times of Korea. */
export function cycleLabel(cycleId: string): string {
  const [, year, month, date, hour, minute] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)$/.exec(cycleId) ?? []
  if (minute === undefined) return cycleId
  const ms = Date.parse(`${year ?? ''}-${month ?? ''}-${date ?? ''}T${hour ?? ''}:${minute}:00+09:00`)
  return Number.isNaN(ms) ? cycleId : `${monthDay(ms)} ${clock(ms)}`
}

/** `45 s`, `12 min`, `3 h 5 min`, `9 d`. */
export function duration(ms: number): string {
  const { second, minute, hour, day: days } = t.units
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return second(integer(seconds))
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return minute(integer(minutes))
  const hours = Math.floor(minutes / 60)
  if (hours >= 48) return days(integer(Math.floor(hours / 24)))
  return minutes % 60 === 0
    ? hour(integer(hours))
    : `${hour(integer(hours))} ${minute(integer(minutes % 60))}`
}

/** `45 s ago`; a time that lies ahead is `in 3 min`. */
export function ago(time: string | number, nowMs: number): string {
  const ms = nowMs - new Date(time).getTime()
  return ms < -minuteMs / 60 ? t.units.in(duration(-ms)) : t.units.ago(duration(ms))
}

/** `since 14:05 KST`, for what the service has counted since it started; undefined once that is a day or more. */
export function sinceStart(startedAt: string, nowMs: number): string | undefined {
  return nowMs - Date.parse(startedAt) < dayMs ? t.units.sinceKst(clock(startedAt)) : undefined
}

/** A number of things, such as `1,234 calls`: `written` puts it into words. */
export function counted(count: number, written: (count: number, digits: string) => string): string {
  return written(count, integer(count))
}

function fixed(value: number, digits: number, options: Intl.NumberFormatOptions = {}): string {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  // The sign of Unicode is as wide as +, and no line ends after it.
  return formats[language]
    .number({ ...options, ...fraction })
    .format(value)
    .replace('-', '−')
}

/** `1,234` */
export function integer(value: number | null | undefined): string {
  return value === null || value === undefined ? dash : fixed(value, 0)
}

/** `7`, and `2.5` for equal scores, which share their average rank. */
export function rank(value: number | null | undefined): string {
  return value === null || value === undefined ? dash : fixed(value, Number.isInteger(value) ? 0 : 1)
}

/** Three significant digits from 10,000 on: `12.3K`, `1.23M`; `1.23만`, `123만`. */
export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined) return dash
  const size = Math.abs(value)
  if (size < 1e4) return fixed(value, size < 10 && !Number.isInteger(value) ? 1 : 0)
  return formats[language]
    .number({ notation: 'compact', maximumSignificantDigits: 3 })
    .format(value)
    .replace('-', '−')
}

/** A score or a head: `0.734`. */
export function score(value: number | null | undefined): string {
  return decimal(value)
}

/** A correlation, a gain, an area: `0.734`. */
export function decimal(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? dash : fixed(value, digits)
}

/** `98.7%` */
export function percent(share: number | null | undefined, digits = 1): string {
  return share === null || share === undefined ? dash : fixed(share, digits, { style: 'percent' })
}

/** A difference of two shares: `+6.6 pp`, in percentage points. */
export function points(difference: number | null): string {
  return difference === null ? dash : t.units.points(formatSigned(100 * difference, 1))
}

/** The ends of an interval: `97.1 to 99.2`, or with their signs, `-1.2 to +3.4`. */
export function range([low, high]: readonly [number, number], unit: 'share' | 'points'): string {
  const text = (value: number): string =>
    unit === 'points' ? formatSigned(100 * value, 1) : fixed(100 * value, 1)
  return t.units.range(text(low), text(high))
}

/** `+1.25`, `-0.30`, `0.00` */
export function formatSigned(value: number, digits: number): string {
  return fixed(value, digits, { signDisplay: 'exceptZero' })
}

/** `+1.2K/h`; an empty text if nothing changes. */
export function rate(perHour: number | null | undefined): string {
  return perHour ? t.units.perHour(`${perHour > 0 ? '+' : ''}${compact(perHour)}`) : ''
}

/** A number of minutes as a duration. */
export function minutes(value: number | null): string {
  return value === null ? dash : duration(value * minuteMs)
}

/** `12.3 ms`, `1.24 s` */
export function milliseconds(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return dash
  if (ms === 0) return '0 ms'
  if (ms >= 1000) return t.units.second(fixed(ms / 1000, 2))
  return `${fixed(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`
}

/** `1.4 GiB` */
export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined) return dash
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, unit] = [count, 0]
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1]
  return `${fixed(value, unit === 0 || value >= 100 ? 0 : 1)} ${units[unit] ?? ''}`
}
