/**
 * Inputs and outputs of a graph as its session declares them, and the rules that all roles share. ONNX Runtime rejects a
 * batch that differs from the sizes of an input. Sizes of an output are only a hint, and exporters leave the 1 of their
 * trace there: the rules check rank and width of outputs, and the first batch shows the rest.
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

type Size = number | string | null | undefined

/** `float32 [N, 64]`; `?` for a free dimension without a name. */
export function portText({ dtype, shape }: Port): string {
  if (dtype === null) return 'not a tensor'
  return `${dtype} ${shape === null ? '[any rank]' : `[${shape.map((size) => size ?? '?').join(', ')}]`}`
}

export function portNamed(ports: readonly Port[], name: string): Port | undefined {
  return ports.find((port) => port.name === name)
}

export function missingInput({ inputs }: Ports, name: string): string {
  return `it has no input ${name}; its inputs are ${namesOf(inputs)}`
}

/** `purpose`: such as ` for p_up`. */
export function missingOutput({ outputs }: Ports, name: string, purpose = ''): string {
  return `it has no output ${name}${purpose}; its outputs are ${namesOf(outputs)}`
}

/** Inputs that would get no value. */
export function unknownInputs({ inputs }: Ports, known: readonly string[]): string[] {
  return inputs
    .filter(({ name }) => !known.includes(name))
    .map(({ name }) => `the manifest does not name the graph's input ${name}`)
}

/** Of any size that a batch may have. */
export function isFree(size: Size): boolean {
  return typeof size !== 'number'
}

/** A size that a batch may have, or `wanted`. */
export function allows(size: Size, wanted: number): boolean {
  return isFree(size) || size === wanted
}

function namesOf(ports: readonly Port[]): string {
  return ports.map(({ name }) => name).join(', ') || 'none'
}
