/**
 * A transformer encoder with random weights in Hugging Face's export format: BERT's layers and BERT's input and output names.
 */
import { GraphBuilder } from './graph-builder.js'
import { mulberry32 } from '../src/base/mulberry32.js'

export interface TransformerShape {
  readonly layerCount: number
  readonly width: number
  readonly headCount: number
  /** Width of the hidden layer of a feed-forward block. */
  readonly hiddenWidth: number
  readonly vocabularyCount: number
  /** Maximum length of a row. */
  readonly tokensMax: number
  /** Whether there is an input `token_type_ids`. */
  readonly hasTypeIds: boolean
  readonly seed: number
  readonly note: string
}

/** `input_ids`, `attention_mask` and optionally `token_type_ids`, int64 [N, tokens], to `last_hidden_state`. */
export function transformerGraph(shape: TransformerShape): Uint8Array {
  const graph = new GraphBuilder(mulberry32(shape.seed))
  const mask = maskTerm(graph)
  transformerLayers(graph, shape, { state: embeddings(graph, shape), mask, output: 'last_hidden_state' })
  const tokens = (name: string) => ({ name, shape: ['batch', 'sequence'], element: 'int64' }) as const
  return graph.write({
    name: 'transformer',
    note: shape.note,
    inputs: ['input_ids', 'attention_mask', ...(shape.hasTypeIds ? ['token_type_ids'] : [])].map(tokens),
    outputs: [{ name: 'last_hidden_state', shape: ['batch', 'sequence', shape.width] }],
  })
}

export type LayerShape = Pick<TransformerShape, 'layerCount' | 'width' | 'headCount' | 'hiddenWidth'>

/** Layers from `state` [N, tokens, width] to `output`, of the same shape. `mask`: added to the attention scores; null: none. */
export function transformerLayers(
  graph: GraphBuilder,
  shape: LayerShape,
  {
    state: input,
    mask,
    output,
  }: { readonly state: string; readonly mask: string | null; readonly output: string },
): void {
  let state = input
  for (let layer = 0; layer < shape.layerCount; layer++) {
    const isLast = layer === shape.layerCount - 1
    const attended = graph.add('Add', [state, attention(graph, shape, state, mask)])
    const normalised = layerNorm(graph, shape, attended)
    const sum = graph.add('Add', [normalised, feedForward(graph, shape, normalised)])
    state = layerNorm(graph, shape, sum, isLast ? output : undefined)
  }
}

/** The additive attention mask [N, 1, 1, tokens]: 0 for tokens, a large negative number for padding. */
function maskTerm(graph: GraphBuilder): string {
  const mask = graph.add('Cast', ['attention_mask'], { to: { int: 1 } })
  const wide = graph.add('Unsqueeze', [mask, graph.integers(1, 2)])
  const absent = graph.add('Sub', [graph.floats([1], Float32Array.of(1)), wide])
  return graph.add('Mul', [absent, graph.floats([1], Float32Array.of(-10_000))])
}

function embeddings(graph: GraphBuilder, shape: TransformerShape): string {
  const { width, vocabularyCount, tokensMax, hasTypeIds } = shape
  const words = graph.add('Gather', [graph.weights([vocabularyCount, width], 1), 'input_ids'])
  const length = graph.add('Shape', ['input_ids'], { start: { int: 1 }, end: { int: 2 } })
  const table = graph.weights([tokensMax, width], 0.3)
  const positions = graph.add('Slice', [table, graph.integers(0), length, graph.integers(0)])
  const sum = graph.add('Add', [words, positions])
  if (!hasTypeIds) return layerNorm(graph, shape, sum)
  const types = graph.add('Gather', [graph.weights([2, width], 0.3), 'token_type_ids'])
  return layerNorm(graph, shape, graph.add('Add', [sum, types]))
}

function attention(graph: GraphBuilder, shape: LayerShape, state: string, mask: string | null): string {
  const { width, headCount } = shape
  const headWidth = width / headCount
  const projection = (...order: number[]): string => {
    const split = [graph.linear(state, width, width), graph.integers(0, 0, headCount, headWidth)]
    return graph.add('Transpose', [graph.add('Reshape', split)], { perm: { ints: order } })
  }
  const [queries, keys, values] = [projection(0, 2, 1, 3), projection(0, 2, 3, 1), projection(0, 2, 1, 3)]
  const scale = graph.floats([1], Float32Array.of(1 / Math.sqrt(headWidth)))
  const scores = graph.add('Mul', [graph.add('MatMul', [queries, keys]), scale])
  const probabilities = graph.add('Softmax', [mask === null ? scores : graph.add('Add', [scores, mask])], {
    axis: { int: -1 },
  })
  const mixed = graph.add('Transpose', [graph.add('MatMul', [probabilities, values])], {
    perm: { ints: [0, 2, 1, 3] },
  })
  return graph.linear(graph.add('Reshape', [mixed, graph.integers(0, 0, width)]), width, width)
}

/** Two linear layers with GELU between them, decomposed as exporters do: x / 2 times (1 + erf(x / sqrt 2)). */
function feedForward(graph: GraphBuilder, { width, hiddenWidth }: LayerShape, state: string): string {
  const scalar = (value: number): string => graph.floats([1], Float32Array.of(value))
  const hidden = graph.linear(state, width, hiddenWidth)
  const error = graph.add('Erf', [graph.add('Div', [hidden, scalar(Math.SQRT2)])])
  const gate = graph.add('Add', [error, scalar(1)])
  const active = graph.add('Mul', [graph.add('Mul', [hidden, gate]), scalar(0.5)])
  return graph.linear(active, hiddenWidth, width)
}

function layerNorm(graph: GraphBuilder, { width }: LayerShape, state: string, name?: string): string {
  const inputs = [state, graph.weights([width], 0.02, 1), graph.weights([width], 0.02)]
  return graph.add('LayerNormalization', inputs, { axis: { int: -1 }, epsilon: { float: 1e-12 } }, name)
}
