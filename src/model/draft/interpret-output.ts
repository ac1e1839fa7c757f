/**
 * What the columns of an output are, by their values in a trial batch: probabilities, two classes, logits, or a regression.
 */
import type { HeadOutput } from '../package/manifest.js'
import { guess, read, type Known } from './findings.js'

export type Activation = NonNullable<HeadOutput['activation']> | 'none'

export interface HeadCandidate {
  readonly column: Known<number>
  readonly scale?: Known<number>
  readonly activation: Known<Activation>
}

/** What rounding adds to a share or to a sum of shares. */
const tolerance = 1e-5
/** A regression of shares is seldom further outside 0 to 1, a logit nearly always. */
const outsideShareMax = 0.1
/** The sigmoid of a logit beyond it is 1 in float32. */
const logitMax = 20
const probabilityName = /prob|share|sigmoid|softmax|^p_/i

/** `columns`: the values of each, a row each. */
export function interpretOutput(name: string, columns: readonly Float32Array[]): HeadCandidate[] {
  const sums = Float64Array.from(columns[0] ?? [], (_, row) =>
    columns.reduce((sum, values) => sum + values[row]!, 0),
  )
  const areShares = columns.every((values) =>
    values.every((value) => value >= -tolerance && value <= 1 + tolerance),
  )
  const areSums = (expected: number): boolean =>
    columns.length > 1 && sums.every((sum) => Math.abs(sum - expected) <= tolerance * 10)
  const last = columns.length - 1
  if (areShares && areSums(1))
    return [
      {
        column:
          columns.length === 2
            ? guess(1, 'two columns that add up to 1: the second is the class 1')
            : guess(last, `${columns.length} classes that add up to 1: the last one`),
        activation: read('none', 'its values are probabilities'),
      },
    ]
  if (columns.length === 2 && areSums(0))
    return [
      {
        column: guess(1, 'two columns that add up to 0: the second is the logit of the class 1'),
        activation: guess('sigmoid', 'the scores of two classes with opposite signs'),
      },
    ]
  if (columns.length === 2 && columns.every(isLogit) && !probabilityName.test(name))
    return [
      {
        column: guess(1, 'two columns of logits: the second is the class 1'),
        activation: guess('softmax', 'two logits for each row, of two classes'),
      },
    ]
  return columns.map((values, index) => ({
    column: read(index, columns.length === 1 ? 'the only column' : `${columns.length} columns`),
    ...rangeOf(name, values),
  }))
}

function rangeOf(name: string, values: Float32Array): Pick<HeadCandidate, 'scale' | 'activation'> {
  const finite = values.filter(Number.isFinite)
  const [min, max] = [Math.min(...finite), Math.max(...finite)]
  const range = `its values are between ${Number(min.toPrecision(3))} and ${Number(max.toPrecision(3))}`
  if (min >= -tolerance && max > logitMax && max <= 100 + tolerance)
    return { scale: guess(0.01, `${range}: per cent`), activation: guess('clip', 'a regression of per cent') }
  return { activation: activationOf(name, finite, range) }
}

function activationOf(name: string, finite: Float32Array, range: string): Known<Activation> {
  const outside = finite.filter((value) => value < -tolerance || value > 1 + tolerance).length
  if (outside === 0)
    return probabilityName.test(name)
      ? read('none', `${range}, and it is named as a probability`)
      : guess('clip', `${range}: clip keeps a regression there; a sigmoid in the graph needs no activation`)
  if (!isLogit(finite)) return guess('clip', `${range}, few of them outside 0 to 1: a regression`)
  return finite.every((value) => value >= 0)
    ? guess(
        'sigmoid',
        `${range}, none of them negative: if these are counts or logarithms, set scale and offset instead`,
      )
    : guess('sigmoid', `${range}: a logit`)
}

function isLogit(values: Float32Array): boolean {
  const outside = values.filter((value) => value < 0 || value > 1).length
  return outside > outsideShareMax * values.length
}
