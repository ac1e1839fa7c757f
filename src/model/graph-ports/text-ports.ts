/**
 * The graph of a text encoder: token ids and what goes with them in, token vectors or a vector a text out.
 */
import type { TextPorts } from '../plans/index.js'
import {
  allows,
  isFree,
  missingInput,
  missingOutput,
  portNamed,
  portText,
  unknownInputs,
  type Ports,
} from './ports.js'

/** The problems of a graph's inputs and outputs, a phrase each; none: it can serve. */
export function textPortProblems(ports: Ports, { inputs, output, dim, pooling }: TextPorts): string[] {
  const needed = [inputs.inputIds, inputs.attentionMask]
  const known = [...needed, inputs.tokenTypeIds]
  return [
    ...needed
      .filter((name) => portNamed(ports.inputs, name) === undefined)
      .map((name) => missingInput(ports, name)),
    ...known.flatMap((name) => inputProblems(ports, name)),
    ...unknownInputs(ports, known),
    ...outputProblems(ports, { output, dim, pooling }),
  ]
}

/** Batches have as many rows and tokens as their texts ask for: a graph of one size would serve hardly any. */
function inputProblems(ports: Ports, name: string): string[] {
  const port = portNamed(ports.inputs, name)
  if (port === undefined) return []
  const { dtype, shape } = port
  const isTokens = shape === null || shape.length === 2
  if (dtype !== 'int64' || !isTokens)
    return [`input ${name} must be int64 [N, tokens], but is ${portText(port)}`]
  if (shape?.every(isFree) ?? true) return []
  return [
    `input ${name} must be int64 [N, tokens] of any size, but is ${portText(port)}: export both dimensions as dynamic`,
  ]
}

function outputProblems(
  ports: Ports,
  { output: name, dim, pooling }: Pick<TextPorts, 'output' | 'dim' | 'pooling'>,
): string[] {
  const port = portNamed(ports.outputs, name)
  if (port === undefined) return [missingOutput(ports, name)]
  const { dtype, shape } = port
  // The sizes before the width are not checked: see ports.ts.
  const fits = shape === null || ((shape.length === 2 || shape.length === 3) && allows(shape.at(-1), dim))
  if (dtype === 'float32' && fits)
    return shape?.length === 3 && pooling === null
      ? [`output ${name} has token vectors: set text.pooling`]
      : []
  return [`output ${name} must be float32 [N, tokens, ${dim}] or [N, ${dim}], but is ${portText(port)}`]
}
