/**
 * The graph of heads: matrices [N, width] in, columns of [N] or [N, columns] out, in float32 or float64.
 */
import { portText, type OnnxPort } from '../onnx-file/index.js'
import type { HeadGraphPlan, HeadPlace, HeadsPlan, MatrixName } from '../sessions/protocol.js'
import { allows, isFree, missingInput, missingOutput, portNamed, strayInputs, type Ports } from './ports.js'

export type HeadPorts = Pick<HeadGraphPlan, 'inputs' | 'heads'>
export type HeadWidths = Pick<HeadsPlan, 'featureCount' | 'textDim' | 'imageDim'>

/** One input of a graph: which matrix it is, and as what numbers the graph takes it. */
export interface HeadInput {
  readonly matrix: MatrixName
  readonly name: string
  readonly type: 'float32' | 'float64'
  readonly columnCount: number
}

const matrixNames: readonly MatrixName[] = ['features', 'text', 'image']

/** What is wrong with a graph's inputs and outputs, each in words; none: it can serve. */
export function headPortProblems(file: Ports, { inputs, heads }: HeadPorts, widths: HeadWidths): string[] {
  const matrices = matricesOf(inputs, widths)
  const known = matrices.map(({ name }) => name)
  const outputs = new Set(heads.map(({ output }) => output))
  return [
    ...matrices.flatMap(({ name, columnCount }) => inputProblems(file, name, columnCount)),
    ...strayInputs(file, known),
    ...[...outputs].flatMap((output) =>
      outputProblems(
        file,
        output,
        heads.filter((place) => place.output === output),
      ),
    ),
  ]
}

/** The inputs of a graph without problems, in the order of the matrices. */
export function headInputs(file: Ports, { inputs }: HeadPorts, widths: HeadWidths): HeadInput[] {
  return matricesOf(inputs, widths).map((matrix) => ({
    ...matrix,
    type: portNamed(file.inputs, matrix.name)?.dtype === 'float64' ? 'float64' : 'float32',
  }))
}

function matricesOf(inputs: HeadPorts['inputs'], widths: HeadWidths): Omit<HeadInput, 'type'>[] {
  const columnCounts = { features: widths.featureCount, text: widths.textDim, image: widths.imageDim }
  return matrixNames.flatMap((matrix) => {
    const name = inputs[matrix]
    return name === undefined ? [] : [{ matrix, name, columnCount: columnCounts[matrix] }]
  })
}

function inputProblems(file: Ports, name: string, width: number): string[] {
  const port = portNamed(file.inputs, name)
  if (port === undefined) return [missingInput(file, name)]
  const { shape } = port
  // A graph may leave its ranks open: then the first batch tells.
  const fits = shape === null || (shape.length === 2 && isFree(shape[0]) && allows(shape[1], width))
  if (isFloat(port) && fits) return []
  return [`input ${name} must be float32 or float64 [N, ${width}], and is ${portText(port)}`]
}

/** Of an output and the heads that lie in it: one for the output, or one for each head that it lacks. */
function outputProblems(file: Ports, name: string, places: readonly HeadPlace[]): string[] {
  const port = portNamed(file.outputs, name)
  if (port === undefined)
    return [missingOutput(file, name, ` for ${places.map(({ head }) => head).join(', ')}`)]
  if (port.kind !== 'tensor')
    return [
      `output ${name} is a ${port.kind} and must be a tensor: a classifier is exported with ` +
        'options={"zipmap": False} (skl2onnx) or zipmap=False (onnxmltools)',
    ]
  const { shape } = port
  const isRanked = shape === null || shape.length === 1 || shape.length === 2
  // Its first size may be anything: see ports.ts.
  if (!isFloat(port) || !isRanked)
    return [`output ${name} must be float32 or float64, [N] or [N, columns], and is ${portText(port)}`]
  const columnCount = shape?.length === 1 ? 1 : shape?.[1]
  if (typeof columnCount !== 'number') return []
  return places.flatMap(({ head, column }) => {
    if (column === null && columnCount !== 1)
      return [`output ${name} has ${columnCount} columns, and the manifest names none for ${head}`]
    if ((column ?? 0) < columnCount) return []
    return [`output ${name} has no column ${column} for ${head}: it is ${portText(port)}`]
  })
}

function isFloat({ kind, dtype }: OnnxPort): boolean {
  return kind === 'tensor' && (dtype === 'float32' || dtype === 'float64')
}
