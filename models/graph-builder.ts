/**
 * Builds an ONNX graph operator by operator: generates names, draws random weights, and writes the file.
 */
import { writeModel, type Attribute, type Constant, type Operator, type Port } from './onnx-writer.js'
import { approximateNormal } from './random.js'

export class GraphBuilder {
  readonly #random: () => number
  readonly #constants: Constant[] = []
  readonly #operators: Operator[] = []

  constructor(random: () => number) {
    this.#random = random
  }

  /** Adds an operator with one output. Returns the output's name: `name`, or a generated one. */
  add(
    type: string,
    inputs: readonly string[],
    attributes: { readonly [name: string]: Attribute } = {},
    name = `${type}.${this.#operators.length}`,
  ): string {
    this.#operators.push({ type, inputs, outputs: [name], attributes })
    return name
  }

  /** A float32 constant with normally distributed values. */
  weights(shape: readonly number[], deviation: number, mean = 0): string {
    const count = shape.reduce((product, size) => product * size, 1)
    return this.floats(
      shape,
      Float32Array.from({ length: count }, () => mean + deviation * approximateNormal(this.#random)),
    )
  }

  floats(shape: readonly number[], values: Float32Array): string {
    return this.#constant({ shape, values })
  }

  /** An int64 vector, for shapes, axes and positions. */
  integers(...values: readonly number[]): string {
    return this.#constant({ shape: [values.length], values: BigInt64Array.from(values, BigInt) })
  }

  /** A linear layer: `input` [..., from] times weights [from, to], plus a bias. */
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
