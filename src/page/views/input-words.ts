/**
 * What an input of a model is in words, and its value in its own unit: a feature such as `views_log` is the logarithm of a count,
 * and is shown as that count. Names follow the catalogue of features; one that it lacks is shown as it is.
 */
import { dayMs, hourMs, minuteMs } from '../../base/units.js'
import { compact, decimal, duration, integer, percent } from '../format.js'
import { t, word } from '../messages/index.js'

interface InputWords {
  readonly label: string
  readonly value: (value: number) => string
}

type Unit = (value: number) => string

const units = {
  count: (value) => compact(value),
  /** Logarithms are not exact. */
  rounded: (value) => compact(Math.round(value)),
  share: (value) => percent(value),
  factor: (value) => decimal(value, 2),
  flag: (value) => (value === 0 ? t.inputs.no : t.inputs.yes),
  hours: (value) => duration(value * hourMs),
  days: (value) => duration(value * dayMs),
  minutes: (value) => duration(value * minuteMs),
  perHour: (value) => t.units.perHour(compact(value)),
  plain: (value) => (Number.isInteger(value) ? integer(value) : decimal(value)),
} satisfies Record<string, Unit>

/** The inverse of the logarithm with sign of 1 + size. */
function fromLog(value: number): number {
  return Math.sign(value) * Math.expm1(Math.abs(value))
}

const logged =
  (unit: Unit): Unit =>
  (value) =>
    unit(fromLog(value))

/** A difference of two logarithms is how many times one is the other. */
const asTimes: Unit = (value) => t.inputs.times(decimal(Math.exp(value), 2))

const counters = ['views', 'up', 'down', 'comment_cnt', 'rtb_vote'] as const

type Form = keyof typeof t.inputs.forms
const counterForms: Readonly<Record<string, readonly [Form, Unit]>> = {
  '': ['count', units.count],
  _log: ['count', logged(units.rounded)],
  _missing: ['missing', units.flag],
  _gain: ['gain', units.count],
  _gain_log: ['gain', logged(units.rounded)],
  _per_hour: ['perHour', logged(units.perHour)],
  _per_hour_of_life: ['perHourOfLife', logged(units.perHour)],
  _momentum: ['momentum', asTimes],
}

function ofCounter(name: string): InputWords | undefined {
  for (const counter of counters) {
    const form = name.startsWith(counter) ? counterForms[name.slice(counter.length)] : undefined
    if (form !== undefined) return { label: t.inputs.forms[form[0]](word(counter)), value: form[1] }
  }
  return undefined
}

function ofText(name: string): InputWords | undefined {
  const [, text, measure, form] = /^(title|body)_([a-z]+)_(log|share)$/.exec(name) ?? []
  if (text === undefined || measure === undefined || !Object.hasOwn(t.inputs.measures, measure))
    return undefined
  const words = [
    t.inputs.text[text as keyof typeof t.inputs.text],
    t.inputs.measures[measure as keyof typeof t.inputs.measures],
  ] as const
  return form === 'log'
    ? { label: t.inputs.textCount(...words), value: logged(units.rounded) }
    : { label: t.inputs.textShare(...words), value: units.share }
}

function ofSnapshot(name: string): InputWords | undefined {
  const fields = Object.keys(t.inputs.fields).join('|')
  const pattern = new RegExp(`^snapshot_(${fields})(_m|_a)?(_log|_total_log|_mobile_share|_app_share)?$`)
  const [, field, device, form] = pattern.exec(name) ?? []
  if (field === undefined) return undefined
  const { inputs } = t
  const what = inputs.fields[field as keyof typeof inputs.fields]
  if (form === '_total_log') return { label: inputs.snapshotTotal(what), value: logged(units.rounded) }
  if (form === '_mobile_share') return { label: inputs.snapshotMobile(what), value: units.share }
  if (form === '_app_share') return { label: inputs.snapshotApp(what), value: units.share }
  const part = device === '_m' ? inputs.onMobile(what) : device === '_a' ? inputs.onApp(what) : what
  const unit = field === 'upimg_height' ? units.share : units.rounded
  return { label: inputs.snapshot(part), value: form === '_log' ? logged(unit) : unit }
}

function ofNamed(name: string): InputWords | undefined {
  if (!Object.hasOwn(t.inputs.named, name)) return undefined
  return { label: t.inputs.named[name as keyof typeof t.inputs.named], value: unitOfNamed(name) }
}

const factors = ['rtb_per_up', 'comments_per_up']

function unitOfNamed(name: string): Unit {
  if (name === 'previous_minutes_log') return logged(units.minutes)
  if (/_(age|delay)_log$/.test(name)) return logged(units.hours)
  if (name.endsWith('_age_days')) return units.days
  if (name.endsWith('_log')) return logged(units.rounded)
  if (/_(sin|cos)$/.test(name)) return units.plain
  if (factors.includes(name)) return units.factor
  return /_per_|share/.test(name) ? units.share : units.flag
}

export function inputWords(name: string): InputWords {
  // `log1p(views)` is the logarithm of a feature.
  const inner = /^log1p\((\w+)\)$/.exec(name)?.[1]
  const base = inner ?? name
  const words = ofCounter(base) ?? ofNamed(base) ?? ofText(base) ?? ofSnapshot(base)
  if (words === undefined) return { label: name, value: units.plain }
  return inner === undefined ? words : { ...words, value: logged(words.value) }
}
