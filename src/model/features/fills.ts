/**
 * Loops that several groups of features share. Each takes columns once and returns a loop over rows; the loops
 * allocate nothing. Comparisons are written so that a NaN takes the branch for missing values.
 */
import type { Column } from './columns.js'
import type { Fill } from './feature.js'
import { logOnePlus } from './count-log.js'

export const hourMs = 3_600_000
export const minuteMs = 60_000

/** log(|x|) with the sign of x, so that shrinking counters keep their direction. */
export function signedLog(x: number): number {
  return x < 0 ? -logOnePlus(-x) : logOnePlus(x)
}

/** log(x); 0 where x is missing. */
export function logCount(column: Column): Fill {
  return (inputs, out, first, stride) => {
    const values = column.values(inputs)
    const index = inputs[column.by]
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const value = values[index[row] as number] as number
      out[at] = value > 0 ? logOnePlus(value) : 0
    }
  }
}

/** 1 where the value is missing, else 0. */
export function missingFlag(column: Column): Fill {
  return presence(column, 0, 1)
}

/** 1 where there is a value, else 0. */
export function presentFlag(column: Column): Fill {
  return presence(column, 1, 0)
}

function presence(column: Column, present: number, missing: number): Fill {
  return (inputs, out, first, stride) => {
    const values = column.values(inputs)
    const index = inputs[column.by]
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      out[at] = Number.isNaN(values[index[row] as number]) ? missing : present
    }
  }
}

/** 1 where the value is `code`, else 0: one member of an enum, or a flag. */
export function equalFlag(column: Column, code: number): Fill {
  return (inputs, out, first, stride) => {
    const values = column.values(inputs)
    const index = inputs[column.by]
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      out[at] = values[index[row] as number] === code ? 1 : 0
    }
  }
}

/** 1 where the value is above zero, else 0. */
export function positiveFlag(column: Column): Fill {
  return (inputs, out, first, stride) => {
    const values = column.values(inputs)
    const index = inputs[column.by]
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      out[at] = (values[index[row] as number] as number) > 0 ? 1 : 0
    }
  }
}

/** part / whole, at least 1 in the denominator, at most `ratioMax`; 0 where either is missing. */
export function ratio(part: Column, whole: Column, ratioMax: number): Fill {
  return (inputs, out, first, stride) => {
    const parts = part.values(inputs)
    const wholes = whole.values(inputs)
    const partIndex = inputs[part.by]
    const wholeIndex = inputs[whole.by]
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const a = parts[partIndex[row] as number] as number
      const b = wholes[wholeIndex[row] as number] as number
      out[at] = a > 0 && b >= 0 ? Math.min(a / Math.max(b, 1), ratioMax) : 0
    }
  }
}

/** Days from the time in `column` until the cycle, held within 0..`daysMax`; 0 where the time is missing. */
export function daysBeforeCycle(column: Column, daysMax: number): Fill {
  return (inputs, out, first, stride) => {
    const times = column.values(inputs)
    const index = inputs[column.by]
    const { cycleAtMs } = inputs
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const days = (cycleAtMs - (times[index[row] as number] as number)) / (24 * hourMs)
      out[at] = days > 0 ? Math.min(days, daysMax) : 0
    }
  }
}

/** log of the hours from the time in `from` until the one in `until`; 0 where negative or missing. */
export function logHoursBetween(from: Column, until: Column | 'cycle'): Fill {
  return (inputs, out, first, stride) => {
    const starts = from.values(inputs)
    const startIndex = inputs[from.by]
    const ends = until === 'cycle' ? null : until.values(inputs)
    const endIndex = until === 'cycle' ? startIndex : inputs[until.by]
    const { cycleAtMs } = inputs
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const end = ends === null ? cycleAtMs : (ends[endIndex[row] as number] as number)
      const hours = (end - (starts[startIndex[row] as number] as number)) / hourMs
      out[at] = hours > 0 ? logOnePlus(hours) : 0
    }
  }
}
