/**
 * The flags `--from` and `--to` of commands that read stored cycles by `cycle_time`.
 */
import type { Command } from 'commander'
import { dayMs } from '../../base/index.js'
import { cycleIdPattern, parseInstant } from '../../contract/index.js'
import { UsageError } from '../failure.js'
import type { Flags } from '../settings/read-settings.js'

/** Cycles with `fromMs` ≤ `cycle_time` ≤ `toMs`, milliseconds since 1970; infinite if a flag is absent. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

const dayPattern = /^\d{4}-\d\d-\d\d$/

export function addRangeFlags(command: Command): Command {
  return command
    .option('--from <time>', 'first cycle_time: a day in KST, a cycle id or RFC 3339 (default: the oldest)')
    .option('--to <time>', 'last cycle_time; a date includes the whole day (default: the newest)')
}

/** Throws a `UsageError` for a value that is not a time, and if `--to` is before `--from`. */
export function timeRangeOf({ from, to }: Flags): TimeRange {
  const fromMs = timeOf('--from', from, 0) ?? -Infinity
  const toMs = timeOf('--to', to, dayMs - 1) ?? Infinity
  if (toMs < fromMs) throw new UsageError('--to is before --from')
  return { fromMs, toMs }
}

/** `ofDayMs`: the millisecond of a day that is meant. */
function timeOf(flag: string, value: unknown, ofDayMs: number): number | null {
  if (typeof value !== 'string') return null
  const isDay = dayPattern.test(value)
  const text = isDay
    ? `${value}T00:00:00+09:00`
    : cycleIdPattern.test(value)
      ? value.replace(/^(....)(..)(..T..)(..)$/, '$1-$2-$3:$4:00+09:00')
      : value
  const instant = parseInstant(text)
  if (instant === null)
    throw new UsageError(
      `${flag} must be a day such as 2026-03-02, a cycle id or an RFC 3339 time, not ${value}`,
    )
  return instant.ms + (isDay ? ofDayMs : 0)
}
