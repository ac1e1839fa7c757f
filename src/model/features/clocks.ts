/**
 * Features of time: ages, and the time of day in Korea.
 */
import { kstTimeOfDay } from '../../contract/index.js'
import { cycleAt, cycleNumber, observedAt, post } from './columns.js'
import { cosine, sine } from './expression.js'
import type { Feature } from './feature.js'
import { dayMs, daysBeforeCycle, kstTurns, logHoursBetween } from './shared.js'

/** Posts leave the pool after a day (interface.md section 8); a much higher age comes from a wrong clock. */
const ageDaysMax = 3
const radiansPerMs = (2 * Math.PI) / dayMs

export const clockFeatures: readonly Feature[] = [
  {
    name: 'created_age_days',
    formula: `days from created_at to cycle_time, within 0 to ${ageDaysMax}`,
    missing: 0,
    value: daysBeforeCycle(post('createdAtMs'), ageDaysMax),
  },
  {
    name: 'created_age_log',
    formula: 'log(hours from created_at to cycle_time, at least 0)',
    missing: 0,
    value: logHoursBetween(post('createdAtMs'), cycleAt),
  },
  {
    name: 'extracted_age_days',
    formula: `days from extracted_at to cycle_time, within 0 to ${ageDaysMax}`,
    missing: 0,
    value: daysBeforeCycle(post('extractedAtMs'), ageDaysMax),
  },
  {
    name: 'extracted_age_log',
    formula: 'log(hours from extracted_at to cycle_time, at least 0)',
    missing: 0,
    value: logHoursBetween(post('extractedAtMs'), cycleAt),
  },
  {
    name: 'extraction_delay_log',
    formula: 'log(hours from created_at to extracted_at, at least 0)',
    missing: 0,
    value: logHoursBetween(post('createdAtMs'), post('extractedAtMs')),
  },
  {
    name: 'reading_age_log',
    formula: 'log(hours from observed_at to cycle_time, at least 0)',
    missing: null,
    value: logHoursBetween(observedAt, cycleAt),
  },
  {
    name: 'cycle_hour_sin',
    formula: 'sine of the time of day of cycle_time in KST, a day being a full turn',
    missing: null,
    value: cycleHour('sine', Math.sin),
  },
  {
    name: 'cycle_hour_cos',
    formula: 'cosine of the time of day of cycle_time in KST, a day being a full turn',
    missing: null,
    value: cycleHour('cosine', Math.cos),
  },
  {
    name: 'created_hour_sin',
    formula: 'sine of the time of day of created_at in KST, a day being a full turn',
    missing: 0,
    value: sine(kstTurns(post('createdAtMs'))),
  },
  {
    name: 'created_hour_cos',
    formula: 'cosine of the time of day of created_at in KST, a day being a full turn',
    missing: 0,
    value: cosine(kstTurns(post('createdAtMs'))),
  },
]

/** Computed once per cycle. */
function cycleHour(name: string, wave: (radians: number) => number) {
  return cycleNumber(`${name} of the hour`, ({ cycleAtMs }) => wave(kstTimeOfDay(cycleAtMs) * radiansPerMs))
}
