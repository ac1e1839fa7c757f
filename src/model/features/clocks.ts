/**
 * Features of time: ages, and the time of day in Korea.
 */
import { kstTimeOfDay } from '../../contract/index.js'
import { cycleAt, cycleNumber, observedAt, post } from './columns.js'
import {
  add,
  atLeast,
  atMost,
  cosine,
  divide,
  multiply,
  round,
  sine,
  subtract,
  type Expression,
} from './expression.js'
import { featureTable, named, type FeatureRow } from './feature.js'
import { dayMs } from '../../base/index.js'
import { logHoursBetween } from './shared.js'

/** The client removes posts after a day; a much higher age comes from a wrong clock. */
const ageDaysMax = 3
const radiansPerMs = (2 * Math.PI) / dayMs
/** The time of day in Korea at midnight UTC. */
const midnightUtcMs = kstTimeOfDay(0)

const createdAt = post('createdAtMs')
const extractedAt = post('extractedAtMs')
const createdDays = daysInKorea(createdAt)

export const clockFeatures = featureTable([
  ageInDays('created', createdAt),
  ageLog('created', createdAt),
  ageInDays('extracted', extractedAt),
  ageLog('extracted', extractedAt),
  [
    'extraction_delay_log',
    'log(hours from created_at to extracted_at, at least 0)',
    0,
    logHoursBetween(createdAt, extractedAt),
    named('extraction_delay', 'hours', 1),
  ],
  [
    'reading_age_log',
    'log(hours from observed_at to cycle_time, at least 0)',
    null,
    logHoursBetween(observedAt, cycleAt),
    named('reading_age', 'hours', 1),
  ],
  [
    'cycle_hour_sin',
    waveFormula('sine', 'cycle_time'),
    null,
    cycleHour('sine', Math.sin),
    named('cycle_hour_sin', 'plain'),
  ],
  [
    'cycle_hour_cos',
    waveFormula('cosine', 'cycle_time'),
    null,
    cycleHour('cosine', Math.cos),
    named('cycle_hour_cos', 'plain'),
  ],
  [
    'created_hour_sin',
    waveFormula('sine', 'created_at'),
    0,
    sine(createdDays),
    named('created_hour_sin', 'plain'),
  ],
  [
    'created_hour_cos',
    waveFormula('cosine', 'created_at'),
    0,
    cosine(createdDays),
    named('created_hour_cos', 'plain'),
  ],
])

function ageInDays(event: 'created' | 'extracted', time: Expression): FeatureRow {
  const days = atMost(atLeast(divide(subtract(cycleAt, time), dayMs), 0), ageDaysMax)
  return [
    `${event}_age_days`,
    `days from ${event}_at to cycle_time, within 0 to ${ageDaysMax}`,
    0,
    days,
    named(`${event}_age`, 'days'),
  ]
}

function ageLog(event: 'created' | 'extracted', time: Expression): FeatureRow {
  const formula = `log(hours from ${event}_at to cycle_time, at least 0)`
  return [`${event}_age_log`, formula, 0, logHoursBetween(time, cycleAt), named(`${event}_age`, 'hours', 1)]
}

function waveFormula(wave: 'sine' | 'cosine', time: string): string {
  return `${wave} of 2π times the time of day of ${time} in KST, as a fraction of a day`
}

/** Computed once per cycle. */
function cycleHour(name: string, wave: (radians: number) => number): Expression {
  return cycleNumber(`${name} of the hour`, ({ cycleAtMs }) => wave(kstTimeOfDay(cycleAtMs) * radiansPerMs))
}

/** Days since the nearest midnight in Korea: -½ to ½. */
function daysInKorea(time: Expression): Expression {
  const kst = add(time, midnightUtcMs)
  return divide(subtract(kst, multiply(round(divide(kst, dayMs)), dayMs)), dayMs)
}
