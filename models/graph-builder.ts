/**
 * Puts a graph together operator by operator: names are given, weights are drawn, and the last call writes it.
 */
import { writeModel, type Attribute, type Constant, type Operator, type Port } from './onnx-writer.js'
import { bell } from './random.js'

export class GraphBuilder {
  readonly #random: () => number
  readonly #constants: Constant[] = []
  readonly #operators: Operator[] = []

  constructor(random: () => number) {
    this.#random = random
  }

  /** Adds an operator with one output, and returns the output's name: `name`, or one of its own. */
  add(
    type: string,
    inputs: readonly string[],
    attributes: { readonly [name: string]: Attribute } = {},
    name = `${type}.${this.#operators.length}`,
  ): string {
    this.#operators.push({ type, inputs, outputs: [name], attributes })
    return name
  }

  /** A float32 constant of random values with this spread; `middle` is added to each. */
  weights(shape: readonly number[], spread: number, middle = 0): string {
    const count = shape.reduce((product, size) => product * size, 1)
    return this.floats(
      shape,
      Float32Array.from({ length: count }, () => middle + spread * bell(this.#random)),
    )
  }

  floats(shape: readonly number[], values: Float32Array): string {
    return this.#constant({ shape, values })
  }

  /** An int64 vector, as shapes, axes and positions are. */
  integers(...values: readonly number[]): string {
    return this.#constant({ shape: [values.length], values: BigInt64Array.from(values, BigInt) })
  }

  /** inputs x [..., from] times weights [from, to] plus a bias. */
  linear(input: string, from: number, to: number, gain = 1): string {
    const product = this.add('MatMul', [input, this.weights([from, to], gain / Math.sqrt(from))])
    return this.add('Add', [product, this.weights([to], 0.02)])
  }

  write(parts: {
    readonly name: string
    readonly note: string
    readonly inputs: readonly Port[]
    readonly outputs: readonly Port[]
  }): Uint8Array {
    return writeModel({ ...parts, constants: this.#constants, operators: this.#operators })
  }

  #constant(constant: Omit<Constant, 'name'>): string {
    const name = `constant.${this.#constants.length}`
    this.#constants.push({ name, ...constant })
    return name
  }
}
