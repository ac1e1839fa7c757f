/**
 * The graph of heads: matrices [N, width] in, columns of [N] or [N, columns] out, in float32 or float64.
 */
import type { HeadColumn, HeadPorts, HeadWidths, MatrixName } from '../plans/index.js'
import {
  allows,
  isFree,
  missingInput,
  missingOutput,
  portNamed,
  portText,
  unknownInputs,
  type Port,
  type Ports,
} from './ports.js'

/** One input of a graph: its matrix, and the element type that the graph takes. */
export interface HeadInput {
  readonly matrix: MatrixName
  readonly name: string
  readonly type: 'float32' | 'float64'
  readonly columnCount: number
}

const matrixNames: readonly MatrixName[] = ['features', 'text', 'image']

/** The problems of a graph's inputs and outputs, a phrase each; none: it can serve. */
export function headPortProblems(ports: Ports, { inputs, heads }: HeadPorts, widths: HeadWidths): string[] {
  const matrices = matricesOf(inputs, widths)
  const known = matrices.map(({ name }) => name)
  const outputs = new Set(heads.map(({ output }) => output))
  return [
    ...matrices.flatMap(({ name, columnCount }) => inputProblems(ports, name, columnCount)),
    ...unnamedInputs(ports, known, inputs.features),
    ...[...outputs].flatMap((output) =>
      outputProblems(
        ports,
        output,
        heads.filter((head) => head.output === output),
      ),
    ),
  ]
}

/** The inputs of a graph without problems, in the order of the matrices. */
export function headInputs(ports: Ports, { inputs }: HeadPorts, widths: HeadWidths): HeadInput[] {
  return matricesOf(inputs, widths).map((matrix) => ({
    ...matrix,
    type: portNamed(ports.inputs, matrix.name)?.dtype === 'float64' ? 'float64' : 'float32',
  }))
}

function matricesOf(inputs: HeadPorts['inputs'], widths: HeadWidths): Omit<HeadInput, 'type'>[] {
  const columnCounts = { features: widths.featureCount, text: widths.textDim, image: widths.imageDim }
  return matrixNames.flatMap((matrix) => {
    const name = inputs[matrix]
    return name === undefined ? [] : [{ matrix, name, columnCount: columnCounts[matrix] }]
  })
}

function inputProblems(ports: Ports, name: string, width: number): string[] {
  const port = portNamed(ports.inputs, name)
  if (port === undefined) return [missingInput(ports, name)]
  const { shape } = port
  // A graph may leave its ranks open: then the first batch shows whether it fits.
  const fits = shape === null || (shape.length === 2 && isFree(shape[0]) && allows(shape[1], width))
  if (isFloat(port) && fits) return []
  const problem = `input ${name} must be float32 or float64 [N, ${width}], but is ${portText(port)}`
  if (isFloat(port) && shape?.length === 2 && !isFree(shape[0]) && allows(shape[1], width))
    return [`${problem}: free its batch size: ${rewrite('free-batch')}`]
  return [problem]
}

/** Exporters of data frames make an input of every column. `features`: the name that the manifest gives to their matrix. */
function unnamedInputs(ports: Ports, known: readonly string[], features = 'features'): string[] {
  const problems = unknownInputs(ports, known)
  const names = ports.inputs.map(({ name }) => name).filter((name) => !known.includes(name))
  if (names.length < 2 || portNamed(ports.inputs, features) !== undefined) return problems
  const joined = `${features}=${names.join(',')}`
  return [
    ...problems,
    `if these are single features, join them into one input: ${rewrite('join-inputs', joined)}`,
  ]
}

/** The command that rewrites a graph. */
function rewrite(how: string, argument = ''): string {
  return `\`python3 models/rewrite_graph.py ${how} IN.onnx OUT.onnx ${argument}`.trimEnd() + '`'
}

/** The problems of an output: one for the output as a whole, or one for each head that it lacks. */
function outputProblems(ports: Ports, name: string, columns: readonly HeadColumn[]): string[] {
  const port = portNamed(ports.outputs, name)
  if (port === undefined)
    return [missingOutput(ports, name, ` for ${columns.map(({ head }) => head).join(', ')}`)]
  if (port.dtype === null)
    return [
      `output ${name} must be a tensor: export a classifier with options={"zipmap": False} (skl2onnx) or ` +
        'zipmap=False (onnxmltools)',
    ]
  const { shape } = port
  const isRanked = shape === null || shape.length === 1 || shape.length === 2
  // Its first size is not checked: see ports.ts.
  if (!isFloat(port) || !isRanked)
    return [`output ${name} must be float32 or float64, [N] or [N, columns], but is ${portText(port)}`]
  const columnCount = shape?.length === 1 ? 1 : shape?.[1]
  if (typeof columnCount !== 'number') return []
  return columns.flatMap(({ head, column }) => {
    if (column === null && columnCount !== 1)
      return [`output ${name} has ${columnCount} columns, and the manifest gives no column for ${head}`]
    if ((column ?? 0) < columnCount) return []
    return [`output ${name} has no column ${column} for ${head}: it is ${portText(port)}`]
  })
}

function isFloat({ dtype }: Port): boolean {
  return dtype === 'float32' || dtype === 'float64'
}
