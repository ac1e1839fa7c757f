/**
 * How counters move: since the previous reading, and since the post was created.
 * Gains and rates are logarithms with a sign, since counters shrink when a platform corrects them.
 */
import { counterNames, type CounterName } from '../../contract/index.js'
import { previousAt } from './columns.js'
import type { Feature, Fill } from './feature.js'
import { hourMs, minuteMs, presentFlag, signedLog } from './fills.js'
import { logOnePlus } from './count-log.js'

/** Readings closer than this count as this far apart: one vote in a millisecond is no rate of 3.6 million. */
const hoursBetweenMin = 1 / 60
/** The same for the life of a post, whose first minutes are all noise. */
const hoursOfLifeMin = 1 / 12
/** A day: the client drops posts older than that. */
const minutesMax = 1440

export const rateFeatures: readonly Feature[] = [
  {
    name: 'previous_present',
    formula: '1 when there is a reading before the one that is scored, else 0',
    missing: 0,
    fill: presentFlag(previousAt),
  },
  {
    name: 'previous_minutes_log',
    formula: `log(minutes since the previous reading, 0 to ${minutesMax})`,
    missing: 0,
    fill: fillPreviousMinutes,
  },
  ...counterNames.map((name) => ({
    name: `${name}_gain_log`,
    formula: `log with sign of ${name} - previous ${name}`,
    missing: 0,
    fill: gain(name),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_per_hour`,
    formula: `log with sign of (${name} - previous ${name}) / hours between, at least 1/60 h; 0 unless time has passed`,
    missing: 0,
    fill: recentRate(name, 'plain'),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_per_hour_of_life`,
    formula: `log(${name} / hours from created_at to observed_at, at least 1/12 h)`,
    missing: 0,
    fill: lifeRate(name),
  })),
  ...(['views', 'up', 'comment_cnt'] as const).map((name) => ({
    name: `${name}_momentum`,
    formula: `${name}_per_hour - ${name}_per_hour_of_life; 0 unless both are known`,
    missing: 0,
    fill: recentRate(name, 'less life rate'),
  })),
  gainedPerView('up_gain_per_view_gain', 'up'),
  gainedPerView('comments_gain_per_view_gain', 'comment_cnt'),
]

function fillPreviousMinutes(...[inputs, out, first, stride]: Parameters<Fill>): void {
  const now = inputs.engagement.observedAtMs
  const before = inputs.previous.observedAtMs
  for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
    const spanMs =
      (now[inputs.readings[row] as number] as number) - (before[inputs.slots[row] as number] as number)
    out[at] = spanMs > 0 ? logOnePlus(Math.min(spanMs / minuteMs, minutesMax)) : 0
  }
}

function gain(name: CounterName): Fill {
  return (inputs, out, first, stride) => {
    const now = inputs.engagement[name]
    const before = inputs.previous[name]
    const beforeAtMs = inputs.previous.observedAtMs
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const slot = inputs.slots[row] as number
      const difference = (now[inputs.readings[row] as number] as number) - (before[slot] as number)
      // Without a previous reading its counters mean nothing, whatever they hold.
      out[at] = Number.isNaN(difference + (beforeAtMs[slot] as number)) ? 0 : signedLog(difference)
    }
  }
}

function recentRate(name: CounterName, form: 'plain' | 'less life rate'): Fill {
  const lessLifeRate = form === 'less life rate'
  return (inputs, out, first, stride) => {
    const now = inputs.engagement[name]
    const nowAtMs = inputs.engagement.observedAtMs
    const before = inputs.previous[name]
    const beforeAtMs = inputs.previous.observedAtMs
    const { createdAtMs } = inputs.posts
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const slot = inputs.slots[row] as number
      const reading = inputs.readings[row] as number
      const value = now[reading] as number
      const atMs = nowAtMs[reading] as number
      const rate = rateBetween(value - (before[slot] as number), atMs - (beforeAtMs[slot] as number))
      const recent = Number.isNaN(rate) ? 0 : rate
      if (!lessLifeRate) {
        out[at] = recent
        continue
      }
      const lifeRateLog = rateOfLife(value, atMs - (createdAtMs[slot] as number))
      out[at] = Number.isNaN(rate + lifeRateLog) ? 0 : recent - lifeRateLog
    }
  }
}

function lifeRate(name: CounterName): Fill {
  return (inputs, out, first, stride) => {
    const values = inputs.engagement[name]
    const { observedAtMs } = inputs.engagement
    const { createdAtMs } = inputs.posts
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const reading = inputs.readings[row] as number
      const lifeMs = (observedAtMs[reading] as number) - (createdAtMs[inputs.slots[row] as number] as number)
      const rate = rateOfLife(values[reading] as number, lifeMs)
      out[at] = Number.isNaN(rate) ? 0 : rate
    }
  }
}

/** NaN where something is missing or no time has passed. */
function rateBetween(difference: number, spanMs: number): number {
  return spanMs > 0 ? signedLog(difference / Math.max(spanMs / hourMs, hoursBetweenMin)) : NaN
}

/** NaN where something is missing. A post created after its reading has lived for the least time there is. */
function rateOfLife(value: number, lifeMs: number): number {
  return logOnePlus(value / Math.max(lifeMs / hourMs, hoursOfLifeMin))
}

function gainedPerView(name: string, part: CounterName): Feature {
  return {
    name,
    formula: `gain of ${part} / gain of views since the previous reading, within 0 to 1; 0 unless both grew`,
    missing: 0,
    fill: (inputs, out, first, stride) => {
      const now = inputs.engagement[part]
      const before = inputs.previous[part]
      const views = inputs.engagement.views
      const viewsBefore = inputs.previous.views
      const beforeAtMs = inputs.previous.observedAtMs
      for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
        const slot = inputs.slots[row] as number
        const reading = inputs.readings[row] as number
        const parts = (now[reading] as number) - (before[slot] as number)
        const wholes = (views[reading] as number) - (viewsBefore[slot] as number)
        const known = !Number.isNaN(beforeAtMs[slot])
        out[at] = known && parts > 0 && wholes > 0 ? Math.min(parts / wholes, 1) : 0
      }
    },
  }
}
