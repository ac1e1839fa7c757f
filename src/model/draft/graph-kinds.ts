/**
 * Which graph of a directory is what: heads read matrices, a text encoder token ids, an image encoder pixels.
 */
import { basename } from 'node:path'
import { integerTypes, isFloat } from '../sessions/floats.js'
import type { Port, Ports } from '../sessions/ports.js'

export type GraphKind = 'head' | 'text' | 'image'

/** null: none of them. */
export function kindOf({ inputs }: Ports): GraphKind | null {
  if (inputs.length === 0) return null
  if (inputs.every(isTokens)) return 'text'
  if (inputs.length === 1 && inputs.every(isPixels)) return 'image'
  return inputs.every(isMatrix) ? 'head' : null
}

function isTokens({ dtype, shape }: Port): boolean {
  return isInteger(dtype) && (shape === null || (shape.length === 2 && shape[1] !== 1))
}

function isPixels({ dtype, shape }: Port): boolean {
  const channels = [shape?.[1], shape?.[3]]
  return (
    (isFloat(dtype) || dtype === 'uint8') &&
    shape?.length === 4 &&
    (channels.includes(3) || channels.every((size) => typeof size !== 'number'))
  )
}

/** Columns of data frames may be whole numbers. */
function isMatrix({ dtype, shape }: Port): boolean {
  const isColumn = shape?.length === 1 || shape?.[1] === 1
  return (isFloat(dtype) && (shape === null || shape.length <= 2)) || (isInteger(dtype) && isColumn)
}

function isInteger(dtype: string | null): boolean {
  return (integerTypes as readonly (string | null)[]).includes(dtype)
}

/** How exporters name files with the same model in another precision or optimisation. */
const variantPattern =
  /[._-](quantized|quint8|qint8|uint8|int8|q4f16|q4|bnb4|fp16|float16|optimized|simplified|O[1-4])\b.*$/i

/** The graph of an encoder among several of its kind: not a quantised or optimised copy, and the name that exporters use. */
export function preferredEncoder<T>(graphs: readonly T[], fileOf: (graph: T) => string): T | undefined {
  const rank = (graph: T): number => {
    const name = basename(fileOf(graph), '.onnx')
    if (variantPattern.test(name)) return 3
    return /^(model|encoder)$/.test(name) ? 0 : /encoder|model/.test(name) ? 1 : 2
  }
  return graphs.toSorted((a, b) => rank(a) - rank(b) || fileOf(a).length - fileOf(b).length)[0]
}

/** The file of which this one is, by its name, a copy in another precision or optimisation; null: none of `files`. */
export function originalOf(file: string, files: readonly string[]): string | null {
  const original = `${file.replace(/\.onnx$/, '').replace(variantPattern, '')}.onnx`
  return original !== file && files.includes(original) ? original : null
}
