/**
 * The graph of heads: matrices [N, width] in, columns of [N] or [N, columns] out, of floats.
 */
import type { HeadName } from '../../contract/index.js'
import type { HeadSettings } from '../package/settings.js'
import {
  floatsText,
  floatTypeOf,
  floatTypes,
  integerTypes,
  isFloat,
  type FloatType,
  type IntegerType,
} from './floats.js'
import {
  allows,
  batchRemedy,
  inputProblems,
  isFree,
  outputProblems,
  portNamed,
  portText,
  type InputRule,
  type Port,
  type Ports,
} from './ports.js'

/** The ports that a graph of heads must have. */
export interface HeadPorts {
  /** Rows of each run. Default: any number. */
  readonly batch?: number
  /** Names of graph inputs [N, columns of that matrix]. */
  readonly inputs: {
    /** A list: inputs in the order of the features, each of which takes as many as it has columns. */
    readonly features?: string | readonly string[]
    readonly text?: string
    readonly image?: string
    readonly gallery_index?: string
  }
  readonly heads: readonly HeadColumn[]
}

export const matrixNames = ['features', 'text', 'image', 'gallery_index'] as const
export type MatrixName = (typeof matrixNames)[number]
/** Columns of the matrices; 0: the manifest has no features, no such encoder or no galleries. */
export type MatrixWidths = Readonly<Record<MatrixName, number>>

/** A head is one column of an output [N, columns], or an output [N], whose only column is 0; of floats. */
export interface HeadColumn extends Omit<HeadSettings, 'name'> {
  readonly head: HeadName
  readonly output: string
}

/** One input of a graph: the matrix that it takes, or some columns of it. */
interface InputPlan {
  readonly matrix: MatrixName
  readonly name: string
  /** Columns of the matrix. */
  readonly columnCount: number
  /** Those that the input takes. */
  readonly columns: ColumnRange
}

export interface ColumnRange {
  readonly start: number
  readonly count: number
}

/** The same with the types that the graph takes. */
export interface HeadInput extends InputPlan {
  readonly type: FloatType | IntegerType
  /** The input is [N] and not [N, columns]. */
  readonly isVector: boolean
}

/** Half precision has no whole numbers above 2,048. */
const galleryIndexTypes = [...integerTypes, 'float32', 'float64'] as const

/** The problems of a graph's inputs and outputs, one phrase each; empty if it can serve. */
export function headPortProblems(
  ports: Ports,
  { inputs, heads, batch }: HeadPorts,
  widths: MatrixWidths,
): string[] {
  const plans = inputsOf(ports, inputs, widths)
  const isSplit = Array.isArray(inputs.features)
  const rules = plans.map(({ matrix, name, columns: { count } }): InputRule => {
    const remedy = ([rows, width = 1]: NonNullable<Port['shape']>): string =>
      allows(width, count) ? batchRemedy(rows) : ''
    if (matrix === 'gallery_index')
      return { name, types: galleryIndexTypes, sizes: [1], mayBeVector: true, batch, remedy }
    const isPart = isSplit && matrix === 'features'
    const types = isPart ? [...floatTypes, ...integerTypes] : floatTypes
    return { name, types, sizes: [count], mayBeVector: isPart && count === 1, batch, remedy }
  })
  const outputs = [...new Set(heads.map(({ output }) => output))]
  return [
    ...inputProblems(ports, rules),
    ...partProblems(plans, widths),
    ...partsHint(ports, rules, inputs.features, widths),
    ...outputs.flatMap((name) => {
      const columns = heads.filter(({ output }) => output === name)
      const purpose = ` for ${columns.map(({ head }) => head).join(', ')}`
      return outputProblems(ports, name, (port) => headOutputProblems(port, columns), purpose)
    }),
  ]
}

/** The inputs of a graph without problems, in the order of the matrices. */
export function headInputs(ports: Ports, { inputs }: HeadPorts, widths: MatrixWidths): HeadInput[] {
  return inputsOf(ports, inputs, widths).map((input) => {
    const { dtype = null, shape = null } = portNamed(ports.inputs, input.name) ?? {}
    const type = integerTypes.find((name) => name === dtype) ?? floatTypeOf(ports.inputs, input.name)
    return { ...input, type, isVector: shape?.length === 1 }
  })
}

function inputsOf(ports: Ports, inputs: HeadPorts['inputs'], widths: MatrixWidths): InputPlan[] {
  return matrixNames.flatMap((matrix): InputPlan[] => {
    const names = inputs[matrix] ?? []
    const columnCount = widths[matrix]
    if (typeof names === 'string')
      return [{ matrix, name: names, columnCount, columns: { start: 0, count: columnCount } }]
    let end = 0
    return partCounts(ports, names, columnCount).map((count, index) => {
      const start = end
      end += count
      return { matrix, name: names[index]!, columnCount, columns: { start, count } }
    })
  })
}

/** The columns of each input; the only one that does not state them has the rest. */
function partCounts(ports: Ports, names: readonly string[], total: number): number[] {
  const stated = names.map((name) => {
    const { shape = null } = portNamed(ports.inputs, name) ?? {}
    const size = shape?.length === 1 ? 1 : shape?.[1]
    return typeof size === 'number' ? size : null
  })
  const isOnly = stated.filter((size) => size === null).length === 1
  const rest = stated.reduce<number>((left, size) => left - (size ?? 0), total)
  return stated.map((size) => size ?? (isOnly && rest > 0 ? rest : 1))
}

function partProblems(plans: readonly InputPlan[], { features }: MatrixWidths): string[] {
  const parts = plans.filter(({ matrix }) => matrix === 'features')
  const taken = parts.reduce((sum, { columns }) => sum + columns.count, 0)
  if (parts.length === 0 || taken === features) return []
  return [`its inputs for features have ${taken} columns in all, but the manifest has ${features} features`]
}

/** Data-frame exporters create one input per column, or one per group of columns. */
function partsHint(
  ports: Ports,
  rules: readonly InputRule[],
  features: HeadPorts['inputs']['features'],
  widths: MatrixWidths,
): string[] {
  if (Array.isArray(features)) return []
  const others = ports.inputs
    .map(({ name }) => name)
    .filter((name) => rules.every((rule) => rule.name !== name))
  const named = typeof features === 'string' ? portNamed(ports.inputs, features) : undefined
  const isWhole = named !== undefined && allows(named.shape?.[1] ?? null, widths.features)
  const names = named === undefined ? others : [named.name, ...others]
  if (names.length < 2 || isWhole) return []
  return [
    'if these are features, list them in the order of the features, each of which takes as many as it has columns: ' +
      `"inputs": { "features": ${JSON.stringify(names)} }`,
  ]
}

/** The problems of an output: one for the output as a whole, or one for each head that it lacks. */
function headOutputProblems(port: Port, columns: readonly HeadColumn[]): string[] {
  const { name, dtype } = port
  if (dtype === null)
    return [
      `output ${name} must be a tensor: export a classifier with options={"zipmap": False} (skl2onnx) or ` +
        'zipmap=False (onnxmltools)',
    ]
  return [...new Set(columns.flatMap((column) => headColumnProblems(port, column)))]
}

function headColumnProblems(port: Port, column: HeadColumn): string[] {
  const { name, dtype } = port
  const { head, squeeze, transposed } = column
  const shape = port.shape && rowsAndColumns(port.shape, column)
  // Its first size is not checked: see ports.ts. A free size that is to be squeezed shows in the first batch.
  const isRanked =
    shape === null || (shape.length > 0 && (shape.length <= 2 || (squeeze && shape.slice(1).some(isFree))))
  if (!isFloat(dtype) || !isRanked) {
    const expected = transposed ? '[N] or [columns, N]' : '[N] or [N, columns]'
    return [
      `output ${name} must be ${floatsText}, ${expected}, but is ${portText(port)}${squeezeHint(port, column)}`,
    ]
  }
  if (shape === null || shape.length > 2) return []
  const columnCount = shape.length === 1 ? 1 : shape[1]
  if (typeof columnCount !== 'number') return []
  if (column.column === null && columnCount !== 1)
    return [`output ${name} has ${columnCount} columns, but the manifest specifies no column for ${head}`]
  if ((column.column ?? 0) >= columnCount)
    return [`output ${name} has no column ${column.column} for ${head}: it is ${portText(port)}`]
  if (column.activation === 'softmax' && columnCount === 1)
    return [
      `output ${name} has one column, of which the softmax is always 1: activation of ${head} must be sigmoid for a logit`,
    ]
  return []
}

/** The end of the message if `squeeze` would correct the rank, else empty. */
function squeezeHint({ dtype, shape }: Port, { squeeze, transposed }: HeadColumn): string {
  if (shape === null || squeeze || !isFloat(dtype)) return ''
  return rowsAndColumns(shape, { squeeze: true, transposed }).length <= 2
    ? ': set squeeze for this output'
    : ''
}

/** The shape of an output as the manifest describes it: rows, then columns if it has any. Any other number of sizes is an error. */
export function rowsAndColumns<Size>(
  shape: readonly Size[],
  { squeeze, transposed }: Pick<HeadColumn, 'squeeze' | 'transposed'>,
): Size[] {
  const rowsAt = transposed ? shape.length - 1 : 0
  const kept = shape.filter((size, index) => !squeeze || index === rowsAt || size !== 1)
  return transposed ? kept.reverse() : kept
}
