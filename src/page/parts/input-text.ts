/** The value of a model's input in the unit that a reader expects: of the logarithm of a count, that count. */
import { dayMs, hourMs, minuteMs } from '../../base/units.js'
import type { InputUnit, ShownInput } from '../../contract/input-words.js'
import { compact, decimal, duration, integer, percent } from '../format.js'
import { t } from '../messages/index.js'

const texts: Readonly<Record<InputUnit, (value: number) => string>> = {
  count: (value) => compact(value),
  share: (value) => percent(value),
  factor: (value) => decimal(value, 2),
  flag: (value) => (value === 0 ? t.inputs.no : t.inputs.yes),
  hours: (value) => duration(value * hourMs),
  days: (value) => duration(value * dayMs),
  minutes: (value) => duration(value * minuteMs),
  perHour: (value) => t.units.perHour(compact(value)),
  /** A difference of two logarithms is how many times one is the other. */
  times: (value) => t.inputs.times(decimal(Math.exp(value), 2)),
  plain: (value) => (Number.isInteger(value) ? integer(value) : decimal(value)),
}

export function inputText({ unit, logs }: ShownInput, value: number): string {
  let inUnit = value
  for (let i = 0; i < logs; i++) inUnit = Math.sign(inUnit) * Math.expm1(Math.abs(inUnit))
  // Logarithms are not exact.
  return texts[unit](unit === 'count' && logs > 0 ? Math.round(inUnit) : inUnit)
}
