/**
 * The graph of a text encoder: token ids and what goes with them in, token vectors or a vector a text out.
 */
import { portText } from '../onnx-file/index.js'
import type { TextPlan } from '../sessions/protocol.js'
import { allows, isFree, missingInput, missingOutput, portNamed, strayInputs, type Ports } from './ports.js'

export type TextPorts = Pick<TextPlan, 'inputs' | 'output' | 'dim'>

/** What is wrong with a graph's inputs and outputs, each in words; none: it can serve. */
export function textPortProblems(file: Ports, { inputs, output, dim }: TextPorts): string[] {
  const needed = [inputs.inputIds, inputs.attentionMask]
  const known = [...needed, inputs.tokenTypeIds]
  return [
    ...needed
      .filter((name) => portNamed(file.inputs, name) === undefined)
      .map((name) => missingInput(file, name)),
    ...known.flatMap((name) => inputProblems(file, name)),
    ...strayInputs(file, known),
    ...outputProblems(file, output, dim),
  ]
}

/** Batches have as many rows and tokens as their texts ask for: a graph of one size would serve hardly any. */
function inputProblems(file: Ports, name: string): string[] {
  const port = portNamed(file.inputs, name)
  if (port === undefined) return []
  const { dtype, shape } = port
  const isTokens = shape === null || shape.length === 2
  if (dtype !== 'int64' || !isTokens)
    return [`input ${name} must be int64 [N, tokens], and is ${portText(port)}`]
  if (shape?.every(isFree) ?? true) return []
  return [
    `input ${name} must be int64 [N, tokens] of any size, and is ${portText(port)}: export both dimensions as dynamic`,
  ]
}

function outputProblems(file: Ports, name: string, dim: number): string[] {
  const port = portNamed(file.outputs, name)
  if (port === undefined) return [missingOutput(file, name)]
  const { dtype, shape } = port
  // The sizes before the width may be anything: see ports.ts.
  const fits = shape === null || ((shape.length === 2 || shape.length === 3) && allows(shape.at(-1), dim))
  if (dtype === 'float32' && fits) return []
  return [`output ${name} must be float32 [N, tokens, ${dim}] or [N, ${dim}], and is ${portText(port)}`]
}
