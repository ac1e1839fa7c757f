/**
 * Time in the contract: RFC 3339 date-times, instants, five-minute boundaries, cycle ids in KST.
 * Nothing here reads a clock or the time zone of the machine.
 */
import { dayMs, hourMs, minuteMs, secondMs } from '../base/units.js'

/**
 * A point in time. `ms` is whole milliseconds since 1970 in UTC, `fraction` is the rest in milliseconds,
 * 0 ≤ fraction < 1, so that two readings a microsecond apart still have an order.
 */
export interface Instant {
  readonly ms: number
  readonly fraction: number
}

/** Korea has had no daylight saving time since 1988. */
export const kstOffsetMs = 9 * hourMs
export const cycleBoundaryMs = 5 * minuteMs

/** The form of a `cycle_id`: `YYYYMMDDTHHMM`. */
export const cycleIdPattern = /^\d{8}T\d{4}$/

/** Longest date-time accepted. The contract has no limit; without one, a row could echo megabytes of zeros. */
export const dateTimeCharsMax = 128

//                    year    month    day       hour    minute  second  fraction   offset
const timePattern = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * The instant of an RFC 3339 date-time with an explicit offset, or null if `text` is not one. Refuses impossible dates,
 * hour 24 and offsets past 23:59. Second 60 is valid only where a leap second can occur: at 23:59:60 UTC.
 */
export function parseInstant(text: string): Instant | null {
  if (text.length > dateTimeCharsMax) return null
  const match = timePattern.exec(text)
  if (match === null) return null
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null
  if (hour > 23 || minute > 59 || second > 60) return null
  const offsetHour = Number(match[9] ?? 0)
  const offsetMinute = Number(match[10] ?? 0)
  if (offsetHour > 23 || offsetMinute > 59) return null
  const offsetMs = (match[8] === '-' ? -1 : 1) * (offsetHour * hourMs + offsetMinute * minuteMs)
  const minuteStart = daysSinceEpoch(year, month, day) * dayMs + hour * hourMs + minute * minuteMs - offsetMs
  if (second === 60 && modulo(minuteStart, dayMs) !== dayMs - minuteMs) return null
  const digits = match[7] ?? ''
  return {
    ms: minuteStart + second * secondMs + Number(digits.slice(0, 3).padEnd(3, '0')),
    fraction: fractionOf(digits.slice(3)),
  }
}

export function isDateTime(text: string): boolean {
  return parseInstant(text) !== null
}

/** Negative, zero or positive, as `a` is earlier than, equal to or later than `b`. */
export function compareInstants(a: Instant, b: Instant): number {
  return a.ms - b.ms || a.fraction - b.fraction
}

/** Date and time in KST as `YYYY-MM-DDTHH:MM:SS.mmm`. */
export function kstText(ms: number): string {
  return new Date(ms + kstOffsetMs).toISOString().slice(0, -1)
}

/**
 * The `cycle_id` of an instant: its minute in KST as `YYYYMMDDTHHMM`. A year before 0 or after 9999 has a sign and six
 * digits, so that two instants never share a `cycle_id`.
 */
export function cycleIdOf(ms: number): string {
  return kstText(ms)
    .replace(/(?<=\d)-|:/g, '')
    .slice(0, -'SS.mmm'.length)
}

/** The first five-minute boundary after `ms`. */
export function nextBoundary(ms: number): number {
  return (Math.floor(ms / cycleBoundaryMs) + 1) * cycleBoundaryMs
}

/** Milliseconds since midnight in KST, 0 to 86,399,999. */
export function kstTimeOfDay(ms: number): number {
  return modulo(ms + kstOffsetMs, dayMs)
}

/** The wire form of a time that the service sets itself: UTC with milliseconds. */
export function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}

function daysInMonth(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month === 2 && leap ? 29 : monthDays[month - 1]!
}

/** Days from 1 January 1970 in the proleptic Gregorian calendar. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  // Years 0 to 99 mean 1900 to 1999 to Date.UTC, so the count starts 400 years (146,097 days) later.
  return Date.UTC(year + 400, month - 1, day) / dayMs - 146_097
}

/** Never negative. Divides, because `%` of large doubles such as times is several times slower. */
function modulo(value: number, base: number): number {
  return value - Math.floor(value / base) * base
}

/** Digits beyond the millisecond as a fraction of a millisecond: less than 1, and 0 only if all digits are 0. */
function fractionOf(digits: string): number {
  if (digits === '') return 0
  return Math.min(Number(`0.${digits}`), 1 - Number.EPSILON / 2)
}
