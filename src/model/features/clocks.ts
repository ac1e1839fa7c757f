/**
 * Ages, and the hour of the day in Korea: readers of a morning and of a night are not the same readers.
 */
import { kstTimeOfDay } from '../../contract/index.js'
import { observedAt, post } from './columns.js'
import type { Feature, Fill } from './feature.js'
import { daysBeforeCycle, hourMs, logHoursBetween } from './fills.js'

/** Posts leave the queue after a day (interface.md section 8); what is far older is a wrong clock. */
const ageDaysMax = 3
const radiansPerMs = (2 * Math.PI) / (24 * hourMs)

export const clockFeatures: readonly Feature[] = [
  {
    name: 'created_age_days',
    formula: `days from created_at to cycle_time, within 0 to ${ageDaysMax}`,
    missing: 0,
    fill: daysBeforeCycle(post('createdAtMs'), ageDaysMax),
  },
  {
    name: 'created_age_log',
    formula: 'log(hours from created_at to cycle_time, at least 0)',
    missing: 0,
    fill: logHoursBetween(post('createdAtMs'), 'cycle'),
  },
  {
    name: 'extracted_age_days',
    formula: `days from extracted_at to cycle_time, within 0 to ${ageDaysMax}`,
    missing: 0,
    fill: daysBeforeCycle(post('extractedAtMs'), ageDaysMax),
  },
  {
    name: 'extracted_age_log',
    formula: 'log(hours from extracted_at to cycle_time, at least 0)',
    missing: 0,
    fill: logHoursBetween(post('extractedAtMs'), 'cycle'),
  },
  {
    name: 'extraction_delay_log',
    formula: 'log(hours from created_at to extracted_at, at least 0)',
    missing: 0,
    fill: logHoursBetween(post('createdAtMs'), post('extractedAtMs')),
  },
  {
    name: 'reading_age_log',
    formula: 'log(hours from observed_at to cycle_time, at least 0)',
    missing: null,
    fill: logHoursBetween(observedAt, 'cycle'),
  },
  {
    name: 'cycle_hour_sin',
    formula: 'sine of the time of day of cycle_time in KST, a day being a full turn',
    missing: null,
    fill: cycleHour(Math.sin),
  },
  {
    name: 'cycle_hour_cos',
    formula: 'cosine of the time of day of cycle_time in KST, a day being a full turn',
    missing: null,
    fill: cycleHour(Math.cos),
  },
  {
    name: 'created_hour_sin',
    formula: 'sine of the time of day of created_at in KST, a day being a full turn',
    missing: 0,
    fill: createdHour(Math.sin),
  },
  {
    name: 'created_hour_cos',
    formula: 'cosine of the time of day of created_at in KST, a day being a full turn',
    missing: 0,
    fill: createdHour(Math.cos),
  },
]

function cycleHour(wave: (radians: number) => number): Fill {
  return (inputs, out, first, stride) => {
    const value = wave(kstTimeOfDay(inputs.cycleAtMs) * radiansPerMs)
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) out[at] = value
  }
}

function createdHour(wave: (radians: number) => number): Fill {
  return (inputs, out, first, stride) => {
    const { createdAtMs } = inputs.posts
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const createdMs = createdAtMs[inputs.slots[row] as number] as number
      out[at] = Number.isNaN(createdMs) ? 0 : wave(kstTimeOfDay(createdMs) * radiansPerMs)
    }
  }
}
