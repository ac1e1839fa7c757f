/**
 * Inputs and outputs of a graph as its session declares them, and the rules that all roles share. `verify` and the process
 * that opens the graph apply the same rules. ONNX Runtime rejects a batch that differs from the sizes of an input. Sizes of
 * an output are only a hint, and exporters leave the 1 of their trace there: the rules check rank and width of outputs, and
 * the first batch shows the rest.
 */

export interface Ports {
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
}

export interface Port {
  readonly name: string
  /** Names of ONNX Runtime for JavaScript: `float32`, `float64`, `int64`, …; null: it is not a tensor. */
  readonly dtype: string | null
  /** A number is a fixed dimension, a string a free one with a name, null a free one. Null for an unknown rank. */
  readonly shape: readonly (number | string | null)[] | null
}

/** An input that a graph must have, of the shape [N, …sizes]. */
export interface InputRule {
  readonly name: string
  readonly types: readonly string[]
  /** A number, which the dimension has or leaves free; a word for a dimension that must be free. */
  readonly sizes: readonly (number | string)[]
  /** Rows of each run. Default: any number. */
  readonly batch?: number | undefined
  /** The graph may lack it. Default false. */
  readonly optional?: boolean
  /** [N] is as good as [N, 1]. Default false. */
  readonly mayBeVector?: boolean
  /** How to correct an input of the right type and rank; '' if unknown. */
  readonly remedy?: (shape: NonNullable<Port['shape']>) => string
}

type Size = number | string | null | undefined

/** `float32 [N, 64]`; `?` for a free dimension without a name. */
export function portText({ dtype, shape }: Port): string {
  if (dtype === null) return 'not a tensor'
  return `${dtype} ${shape === null ? '[any rank]' : `[${shape.map((size) => size ?? '?').join(', ')}]`}`
}

export function portNamed(ports: readonly Port[], name: string): Port | undefined {
  return ports.find((port) => port.name === name)
}

/** What is wrong with the inputs of a graph, a phrase each: those of the rules, and others, which would get no value. */
export function inputProblems({ inputs }: Ports, rules: readonly InputRule[]): string[] {
  const others = inputs.filter(({ name }) => rules.every((rule) => rule.name !== name))
  return [
    ...rules.flatMap((rule) => inputProblem(inputs, rule)),
    ...others.map(({ name }) => `the manifest does not name the graph's input ${name}`),
  ]
}

/** What is wrong with an output, one phrase per problem. `purpose`: such as ` for p_up`. */
export function outputProblems(
  { outputs }: Ports,
  name: string,
  problemsOf: (port: Port) => string[],
  purpose = '',
): string[] {
  const port = portNamed(outputs, name)
  return port === undefined
    ? [`it has no output ${name}${purpose}; its outputs are ${namesOf(outputs)}`]
    : problemsOf(port)
}

/** Whether a batch may have any size. */
export function isFree(size: Size): boolean {
  return typeof size !== 'number'
}

/** How to serve a graph with a fixed batch size; '' if the first size is no number. */
export function batchRemedy(size: Size): string {
  if (typeof size !== 'number') return ''
  return `set batch to ${size} for this graph in the manifest, or export its first dimension as dynamic`
}

/** A size that a batch may have, or `expected`. */
export function allows(size: Size, expected: number): boolean {
  return isFree(size) || size === expected
}

function inputProblem(inputs: readonly Port[], rule: InputRule): string[] {
  const { name, types, sizes, batch, optional = false, mayBeVector = false, remedy } = rule
  const port = portNamed(inputs, name)
  if (port === undefined)
    return optional ? [] : [`it has no input ${name}; its inputs are ${namesOf(inputs)}`]
  const { dtype, shape } = port
  const isTyped = dtype !== null && types.includes(dtype)
  const takesBatch = batch === undefined ? isFree(shape?.[0]) : allows(shape?.[0], batch)
  const isVector = mayBeVector && shape?.length === 1 && takesBatch
  const isRanked = shape === null || shape.length === sizes.length + 1
  const fits =
    shape === null ||
    (takesBatch &&
      sizes.every((size, i) =>
        typeof size === 'number' ? allows(shape[i + 1], size) : isFree(shape[i + 1]),
      ))
  // A graph may leave its ranks open: then the first batch shows whether it fits.
  if (isTyped && (isVector || (isRanked && fits))) return []
  const expected = `${wordList(types)} [${[batch ?? 'N', ...sizes].join(', ')}]${mayBeVector ? ' or [N]' : ''}`
  const how = isTyped && isRanked && shape !== null ? (remedy?.(shape) ?? '') : ''
  return [`input ${name} must be ${expected}, but is ${portText(port)}${how === '' ? '' : `: ${how}`}`]
}

/** `a, b or c`. */
export function wordList(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' or ')
}

function namesOf(ports: readonly Port[]): string {
  return ports.map(({ name }) => name).join(', ') || 'none'
}
