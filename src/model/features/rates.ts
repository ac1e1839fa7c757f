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
  signedLog1p,
  multiply,
  present,
  subtract,
  where,
  type Expression,
} from './expression.js'
import { featureTable, named, type FeatureRow } from './feature.js'
import { hourMs, minuteMs } from '../../base/index.js'

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

export const rateFeatures = featureTable([
  [
    'previous_present',
    '1 when there is a reading before the one that is scored, else 0',
    0,
    present(previousAt),
    named('previous_present', 'flag'),
  ],
  [
    'previous_minutes_log',
    `log(minutes since the previous reading, 0 to ${minutesMax})`,
    0,
    signedLog1p(atMost(atLeast(divide(spanMs, minuteMs), 0), minutesMax)),
    named('previous_minutes', 'minutes', 1),
  ],
  ...counterNames.map((name): FeatureRow => [
    `${name}_gain`,
    `${name} - previous ${name}`,
    0,
    gain(name),
    { form: 'gain', of: name, unit: 'count', logs: 0 },
  ]),
  ...counterNames.map((name): FeatureRow => {
    return [
      `${name}_gain_log`,
      `log with sign of ${name} - previous ${name}`,
      0,
      signedLog1p(gain(name)),
      { form: 'gain', of: name, unit: 'count', logs: 1 },
    ]
  }),
  ...counterNames.map((name): FeatureRow => {
    const rate = `(${name} - previous ${name}) / hours between, at least 1/60 h`
    return [
      `${name}_per_hour`,
      `log with sign of ${rate}; 0 unless time has passed`,
      0,
      recentRate(name),
      { form: 'perHour', of: name, unit: 'perHour', logs: 1 },
    ]
  }),
  ...counterNames.map((name): FeatureRow => {
    const formula = `log(${name} / hours from created_at to observed_at, at least 1/12 h)`
    return [
      `${name}_per_hour_of_life`,
      formula,
      0,
      rateOfLife(name),
      { form: 'perHourOfLife', of: name, unit: 'perHour', logs: 1 },
    ]
  }),
  ...(['views', 'up', 'comment_cnt'] as const).map((name): FeatureRow => {
    const formula = `${name}_per_hour - ${name}_per_hour_of_life; 0 unless both are known`
    return [
      `${name}_momentum`,
      formula,
      0,
      subtract(recentRate(name), rateOfLife(name)),
      { form: 'momentum', of: name, unit: 'times', logs: 0 },
    ]
  }),
  gainPerView('up_gain_per_view_gain', 'up'),
  gainPerView('comments_gain_per_view_gain', 'comment_cnt'),
])

function gain(name: CounterName): Expression {
  return subtract(counter(name), previousCounter(name))
}

function recentRate(name: CounterName): Expression {
  return signedLog1p(divide(gain(name), hoursBetween))
}

function rateOfLife(name: CounterName): Expression {
  return signedLog1p(divide(counter(name), hoursOfLife))
}

function gainPerView(
  name: 'up_gain_per_view_gain' | 'comments_gain_per_view_gain',
  part: CounterName,
): FeatureRow {
  const views = gain('views')
  const share = atMost(divide(atLeast(gain(part), 0), atLeast(views, 1)), 1)
  const formula = `gain of ${part} / gain of views since the previous reading, within 0 to 1; 0 unless both grew`
  return [name, formula, 0, multiply(share, greater(views, 0)), named(name, 'share')]
}
