/**
 * Growth of counters: since the previous reading of the post, and since the post was created. Gains and rates are signed
 * logarithms, since counters shrink when a platform corrects them.
 */
import { counterNames, type CounterName } from '../../contract/index.js'
import { counter, observedAt, post, previousAt, previousCounter } from './columns.js'
import {
  atLeast,
  atMost,
  divide,
  greater,
  log,
  multiply,
  present,
  subtract,
  where,
  type Expression,
} from './expression.js'
import type { Feature } from './feature.js'
import { hourMs, minuteMs } from './shared.js'

/** Minimum time between readings: one vote within a millisecond is not a rate of 3.6 million per hour. */
const hoursBetweenMin = 1 / 60
/** Minimum age of a post: rates over its first minutes are noise. */
const hoursOfLifeMin = 1 / 12
/** A day: the client drops older posts. */
const minutesMax = 1440

const spanMs = subtract(observedAt, previousAt)
/** Missing unless time has passed since the previous reading. */
const hoursBetween = where(atLeast(divide(spanMs, hourMs), hoursBetweenMin), spanMs)
/** A post created after its reading has the minimum age. */
const hoursOfLife = atLeast(divide(subtract(observedAt, post('createdAtMs')), hourMs), hoursOfLifeMin)

export const rateFeatures: readonly Feature[] = [
  {
    name: 'previous_present',
    formula: '1 when there is a reading before the one that is scored, else 0',
    missing: 0,
    value: present(previousAt),
  },
  {
    name: 'previous_minutes_log',
    formula: `log(minutes since the previous reading, 0 to ${minutesMax})`,
    missing: 0,
    value: log(atMost(atLeast(divide(spanMs, minuteMs), 0), minutesMax)),
  },
  ...counterNames.map((name) => ({
    name: `${name}_gain`,
    formula: `${name} - previous ${name}`,
    missing: 0,
    value: gain(name),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_gain_log`,
    formula: `log with sign of ${name} - previous ${name}`,
    missing: 0,
    value: log(gain(name)),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_per_hour`,
    formula: `log with sign of (${name} - previous ${name}) / hours between, at least 1/60 h; 0 unless time has passed`,
    missing: 0,
    value: recentRate(name),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_per_hour_of_life`,
    formula: `log(${name} / hours from created_at to observed_at, at least 1/12 h)`,
    missing: 0,
    value: rateOfLife(name),
  })),
  ...(['views', 'up', 'comment_cnt'] as const).map((name) => ({
    name: `${name}_momentum`,
    formula: `${name}_per_hour - ${name}_per_hour_of_life; 0 unless both are known`,
    missing: 0,
    value: subtract(recentRate(name), rateOfLife(name)),
  })),
  gainedPerView('up_gain_per_view_gain', 'up'),
  gainedPerView('comments_gain_per_view_gain', 'comment_cnt'),
]

function gain(name: CounterName): Expression {
  return subtract(counter(name), previousCounter(name))
}

function recentRate(name: CounterName): Expression {
  return log(divide(gain(name), hoursBetween))
}

function rateOfLife(name: CounterName): Expression {
  return log(divide(counter(name), hoursOfLife))
}

function gainedPerView(name: string, part: CounterName): Feature {
  const views = gain('views')
  const share = atMost(divide(atLeast(gain(part), 0), atLeast(views, 1)), 1)
  return {
    name,
    formula: `gain of ${part} / gain of views since the previous reading, within 0 to 1; 0 unless both grew`,
    missing: 0,
    value: multiply(share, greater(views, 0)),
  }
}
