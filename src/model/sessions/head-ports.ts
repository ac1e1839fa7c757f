/**
 * The graph of heads: matrices [N, width] in, columns of [N] or [N, columns] out, of floats.
 */
import type { HeadName } from '../../contract/index.js'
import type { HeadSettings } from '../package/settings.js'
import { floatsText, floatTypeOf, floatTypes, isFloat, type FloatType } from './floats.js'
import {
  allows,
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
  /** Names of graph inputs [N, columns of that matrix]. */
  readonly inputs: { readonly [Matrix in MatrixName]?: string }
  readonly heads: readonly HeadColumn[]
}

export const matrixNames = ['features', 'text', 'image'] as const
export type MatrixName = (typeof matrixNames)[number]
/** Columns of the matrices; 0: the manifest has no features or no such encoder. */
export type MatrixWidths = Readonly<Record<MatrixName, number>>

/** A head is one column of an output [N, columns], or an output [N], whose only column is 0; of floats. */
export interface HeadColumn extends Omit<HeadSettings, 'name'> {
  readonly head: HeadName
  readonly output: string
}

/** One input of a graph: its matrix, and the element type that the graph takes. */
export interface HeadInput {
  readonly matrix: MatrixName
  readonly name: string
  readonly type: FloatType
  readonly columnCount: number
}

/** The problems of a graph's inputs and outputs, one phrase each; empty if it can serve. */
export function headPortProblems(ports: Ports, { inputs, heads }: HeadPorts, widths: MatrixWidths): string[] {
  const rules = matricesOf(inputs, widths).map(({ name, columnCount }): InputRule => {
    const remedy = ([count, width]: NonNullable<Port['shape']>): string =>
      !isFree(count) && allows(width, columnCount) ? `free its batch size: ${rewrite('free-batch')}` : ''
    return { name, types: floatTypes, sizes: [columnCount], remedy }
  })
  const outputs = [...new Set(heads.map(({ output }) => output))]
  return [
    ...inputProblems(ports, rules),
    ...joinHint(
      ports,
      rules.map(({ name }) => name),
      inputs.features,
    ),
    ...outputs.flatMap((name) => {
      const columns = heads.filter(({ output }) => output === name)
      const purpose = ` for ${columns.map(({ head }) => head).join(', ')}`
      return outputProblems(ports, name, (port) => headOutputProblems(port, columns), purpose)
    }),
  ]
}

/** The inputs of a graph without problems, in the order of the matrices. */
export function headInputs(ports: Ports, { inputs }: HeadPorts, widths: MatrixWidths): HeadInput[] {
  return matricesOf(inputs, widths).map((matrix) => ({
    ...matrix,
    type: floatTypeOf(ports.inputs, matrix.name),
  }))
}

function matricesOf(inputs: HeadPorts['inputs'], widths: MatrixWidths): Omit<HeadInput, 'type'>[] {
  return matrixNames.flatMap((matrix) => {
    const name = inputs[matrix]
    return name === undefined ? [] : [{ matrix, name, columnCount: widths[matrix] }]
  })
}

/** Data-frame exporters create one input per column. `features`: the name that the manifest gives to their matrix. */
function joinHint(ports: Ports, known: readonly string[], features = 'features'): string[] {
  const names = ports.inputs.map(({ name }) => name).filter((name) => !known.includes(name))
  if (names.length < 2 || portNamed(ports.inputs, features) !== undefined) return []
  const joined = `${features}=${names.join(',')}`
  return [`if these are single features, join them into one input: ${rewrite('join-inputs', joined)}`]
}

/** The command that rewrites a graph. */
function rewrite(how: string, argument = ''): string {
  return `\`python3 models/rewrite_graph.py ${how} IN.onnx OUT.onnx ${argument}`.trimEnd() + '`'
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
