/**
 * The graph of a text encoder: token ids and attention mask in, token vectors or one vector per text out.
 */
import type { TextSettings } from '../package/settings.js'
import { floatsText, isFloat } from '../sessions/floats.js'
import type { GraphPlan } from '../sessions/plans.js'
import {
  allows,
  inputProblems,
  isFree,
  outputProblems,
  portText,
  type Port,
  type Ports,
} from '../sessions/ports.js'

/** The problems of a graph's inputs and outputs, one phrase each; empty if it can serve. */
export function textPortProblems(ports: Ports, text: TextSettings & Pick<GraphPlan, 'batch'>): string[] {
  const { input_ids, attention_mask, token_type_ids } = text.inputs
  // Batches have as many tokens as their texts need: a graph of one length would serve hardly any.
  const remedy = ([count, tokens]: NonNullable<Port['shape']>): string =>
    isFree(tokens) && typeof count === 'number'
      ? `set batch to ${count} for this graph in the manifest, or export both dimensions as dynamic`
      : 'export both dimensions as dynamic'
  const rule = { types: ['int64'], sizes: ['tokens'], batch: text.batch, remedy }
  return [
    ...inputProblems(ports, [
      { ...rule, name: input_ids },
      { ...rule, name: attention_mask },
      { ...rule, name: token_type_ids, optional: true },
    ]),
    ...outputProblems(ports, text.output, (port) => textOutputProblems(port, text)),
  ]
}

/** The problems of the output, as its graph declares it or as a run returns it. */
export function textOutputProblems(port: Port, { dim, pooling }: TextSettings): string[] {
  const { name, dtype, shape } = port
  // The sizes before the width are not checked: see ports.ts.
  const fits = shape === null || ((shape.length === 2 || shape.length === 3) && allows(shape.at(-1), dim))
  if (isFloat(dtype) && fits)
    return shape?.length === 3 && pooling === null
      ? [`output ${name} has token vectors: set text.pooling`]
      : []
  return [`output ${name} must be ${floatsText} [N, tokens, ${dim}] or [N, ${dim}], but is ${portText(port)}`]
}
