/**
 * A head graph's inputs and outputs as ONNX Runtime reports them, compared with the plan. Every refusal says what the
 * graph must have and what it has, since its reader is the one who exports it.
 */
import type { InferenceSession } from 'onnxruntime-node'
import { PortError } from './graph-session.js'
import type { HeadGraphPlan, HeadPlace, HeadsPlan, MatrixName } from './protocol.js'

export type FloatType = 'float32' | 'float64'

/** One input of the graph: which matrix it is, and as what numbers the graph takes it. */
export interface InputPort {
  readonly matrix: MatrixName
  readonly name: string
  readonly type: FloatType
  readonly columnCount: number
}

const matrixNames: readonly MatrixName[] = ['features', 'text', 'image']

/** Throws a `PortError` when the graph cannot serve the plan. */
export function checkHeadPorts(session: InferenceSession, graph: HeadGraphPlan, plan: HeadsPlan): void {
  const ports = inputPorts(session, graph, plan)
  const stray = session.inputNames.filter((name) => !ports.some((port) => port.name === name))
  if (stray.length > 0) {
    const wanted = ports.map(shapeWanted).join(' and ')
    throw new PortError(`the graph must have ${wanted} alone, and has ${session.inputNames.join(', ')}`)
  }
  for (const place of graph.heads) checkOutput(session, place)
}

/** The graph's inputs, in the order of the matrices. Throws a `PortError` when one is not as the plan says. */
export function inputPorts(session: InferenceSession, graph: HeadGraphPlan, plan: HeadsPlan): InputPort[] {
  const columnCounts = { features: plan.featureCount, text: plan.textDim, image: plan.imageDim }
  return matrixNames.flatMap((matrix) => {
    const name = graph.inputs[matrix]
    if (name === undefined) return []
    const wanted = { matrix, name, columnCount: columnCounts[matrix] }
    return [{ ...wanted, type: checkInput(session, wanted) }]
  })
}

function checkInput(session: InferenceSession, wanted: Omit<InputPort, 'type'>): FloatType {
  const must = `the graph must have ${shapeWanted(wanted)}`
  const port = session.inputMetadata.find(({ name }) => name === wanted.name)
  if (port === undefined) throw new PortError(`${must}, and has ${session.inputNames.join(', ')}`)
  const { shape, type } = floatTensor(port, `input ${wanted.name}`)
  const [rows, columns] = shape
  // A graph may leave its shapes open: then the first batch tells.
  const fits =
    shape.length === 0 ||
    (shape.length === 2 &&
      typeof rows !== 'number' &&
      (typeof columns !== 'number' || columns === wanted.columnCount))
  if (!fits) throw new PortError(`${must}, and has it as ${shapeText(shape)}`)
  return type
}

function checkOutput(session: InferenceSession, { output, column }: HeadPlace): void {
  const port = session.outputMetadata.find(({ name }) => name === output)
  if (port === undefined) {
    throw new PortError(`the graph has no output ${output}, but ${session.outputNames.join(', ')}`)
  }
  const { shape } = floatTensor(port, `output ${output}`)
  if (shape.length === 0) return
  const [rows, columns] = shape
  const columnCount = shape.length === 1 ? 1 : columns
  if (shape.length > 2 || typeof rows === 'number') {
    throw new PortError(`output ${output} must be [N] or [N, columns], and is ${shapeText(shape)}`)
  }
  if (typeof columnCount === 'number' && column >= columnCount) {
    throw new PortError(`output ${output} has no column ${column}: it is ${shapeText(shape)}`)
  }
}

function floatTensor(
  port: InferenceSession.ValueMetadata,
  place: string,
): { readonly shape: readonly (number | string)[]; readonly type: FloatType } {
  if (!port.isTensor) {
    throw new PortError(
      `${place} is a sequence or a map, and must be a tensor. Converters write a classifier's probabilities as a ` +
        `sequence of maps unless told not to: export with options={id(model): {"zipmap": False}} (skl2onnx) or ` +
        'zipmap=False (onnxmltools), and name the column',
    )
  }
  if (port.type !== 'float32' && port.type !== 'float64') {
    throw new PortError(`${place} must be a tensor of float32 or float64, and is one of ${port.type}`)
  }
  return { shape: port.shape, type: port.type }
}

function shapeWanted({ name, columnCount }: Pick<InputPort, 'name' | 'columnCount'>): string {
  return `input ${name} [N, ${columnCount}]`
}

/** An open dimension without a name is reported as an empty text. */
function shapeText(shape: readonly (number | string)[]): string {
  return `[${shape.map((size) => (size === '' ? '?' : size)).join(', ')}]`
}
