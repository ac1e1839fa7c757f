/**
 * Compiles features into a column program. Common subexpressions are computed once, and a register is reused after the
 * last instruction that reads it.
 */
import { columnOperations, type Codec, type ColumnOperation, type ColumnProgram } from '../../codec/index.js'
import type { ScoringInputs } from '../../pool/index.js'
import type { ColumnExpression, CycleExpression, Expression, OperationExpression } from './expression.js'
import type { Feature } from './feature.js'

/**
 * Fills a row-major matrix [inputs.count, features]. A longer `matrix` keeps its other values. Throws a RangeError when
 * it is too small.
 */
export type FillFeatures = (inputs: ScoringInputs, matrix: Float32Array) => void

/** The value of a feature whose inputs are missing: its `missing`, or NaN for models that accept NaN. */
export type MissingValues = 'imputed' | 'nan'

export interface CompileOptions {
  /** Provides the evaluator of the program. */
  readonly codec: Pick<Codec, 'columnProgram'>
  /** Default: imputed. */
  readonly missing?: MissingValues
}

/** Compiles features, in the order of the matrix's columns. */
export function compileFeatures(features: readonly Feature[], options: CompileOptions): FillFeatures {
  const nodes = new Nodes()
  const outputs = features.map((feature) => nodes.add(feature.value))
  const { columns, cycleNumbers } = nodes
  const run = options.codec.columnProgram({
    ...placeInRegisters(nodes, outputs),
    constants: Float64Array.from(nodes.constants),
    parameterCount: cycleNumbers.length,
    columnIndexes: Uint32Array.from(columns, (column) => indexNames.indexOf(column.by)),
    indexCount: indexNames.length,
    missing: Float64Array.from(features, ({ missing }) =>
      options.missing === 'nan' || missing === null ? NaN : missing,
    ),
  })
  return (inputs, matrix) => {
    run(
      {
        rowCount: inputs.count,
        columns: columns.map((column) => column.values(inputs)),
        indexes: indexNames.map((name) => inputs[name]),
        parameters: Float64Array.from(cycleNumbers, (number) => number.value(inputs)),
      },
      matrix,
    )
  }
}

const indexNames = ['slots', 'readings'] as const

/** A value that is computed once for all expressions that contain it. */
type Node = LeafNode | OperationNode

interface LeafNode {
  readonly kind: 'constant' | 'cycle' | 'column'
  /** In the list of its kind. */
  readonly position: number
}

interface OperationNode {
  readonly kind: 'operation'
  readonly operation: ColumnOperation
  readonly a: Node
  /** For an operation on one number: the same as `a`. */
  readonly b: Node
}

/** All values of a program; equal expressions share one node. */
class Nodes {
  readonly constants: number[] = []
  readonly cycleNumbers: CycleExpression[] = []
  readonly columns: ColumnExpression[] = []
  readonly #byKey = new Map<string, Node>()
  readonly #keys = new Map<Node, number>()

  add(expression: Expression): Node {
    switch (expression.kind) {
      case 'constant':
        return this.#leaf(`constant ${expression.value}`, 'constant', this.constants, expression.value)
      case 'cycle':
        return this.#leaf(`cycle ${expression.name}`, 'cycle', this.cycleNumbers, expression)
      case 'column':
        return this.#leaf(`column ${expression.name}`, 'column', this.columns, expression)
      case 'operation':
        return this.#operation(expression)
    }
  }

  #leaf<T>(key: string, kind: LeafNode['kind'], list: T[], entry: T): Node {
    return this.#once(key, () => ({ kind, position: list.push(entry) - 1 }))
  }

  #operation({ operation, a, b }: OperationExpression): Node {
    const first = this.add(a)
    const second = b === null ? first : this.add(b)
    const key = `${operation} ${this.#keys.get(first)} ${this.#keys.get(second)}`
    return this.#once(key, () => ({ kind: 'operation', operation, a: first, b: second }))
  }

  #once(key: string, make: () => Node): Node {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const node = make()
    this.#keys.set(node, this.#byKey.size)
    this.#byKey.set(key, node)
    return node
  }
}

/** Number of outputs that are computed before they are stored: their floats fill half a cache line of each row. */
const storedTogether = 8

/** A value to compute, or outputs to store. */
type Step = Node | { readonly kind: 'store'; readonly output: number; readonly count: number }

function placeInRegisters(
  nodes: Nodes,
  outputs: readonly Node[],
): Pick<ColumnProgram, 'code' | 'outputs' | 'registerCount'> {
  const steps = orderSteps(outputs)
  const registers = new Registers(nodes, lastReads(steps, outputs))
  const code = steps.flatMap((step, at) => {
    const read = readBy(step, outputs).map((node) => registers.of(node))
    registers.release(readBy(step, outputs), at)
    if (step.kind === 'store') return [columnOperations.indexOf('store'), 0, step.output, step.count]
    const to = registers.take(step)
    if (step.kind === 'operation') return [columnOperations.indexOf(step.operation), to, ...read]
    return [columnOperations.indexOf('load'), to, step.position, step.position]
  })
  return {
    code: Uint32Array.from(code),
    outputs: Uint32Array.from(outputs, (node) => registers.of(node)),
    registerCount: registers.count,
  }
}

/** Each value comes before the steps that read it, and as late as possible. */
function orderSteps(outputs: readonly Node[]): Step[] {
  const steps: Step[] = []
  const done = new Set<Node>()
  const compute = (node: Node): void => {
    if (done.has(node) || isGiven(node)) return
    done.add(node)
    for (const input of readBy(node, outputs)) compute(input)
    steps.push(node)
  }
  for (let output = 0; output < outputs.length; output += storedTogether) {
    const together = outputs.slice(output, output + storedTogether)
    together.forEach(compute)
    steps.push({ kind: 'store', output, count: together.length })
  }
  return steps
}

function readBy(step: Step, outputs: readonly Node[]): readonly Node[] {
  if (step.kind === 'store') return outputs.slice(step.output, step.output + step.count)
  return step.kind === 'operation' ? [step.a, step.b] : []
}

/** Whether a value is in its register before the program starts, and stays there. */
function isGiven(node: Node): node is LeafNode {
  return node.kind === 'constant' || node.kind === 'cycle'
}

/** For each value the last step that reads it. */
function lastReads(steps: readonly Step[], outputs: readonly Node[]): Map<Node, number> {
  return new Map(steps.flatMap((step, at) => readBy(step, outputs).map((node) => [node, at] as const)))
}

/** Register allocation: constants first, then the cycle's numbers, then reusable registers. */
class Registers {
  readonly #constantCount: number
  readonly #lastReads: ReadonlyMap<Node, number>
  readonly #places = new Map<Node, number>()
  readonly #free: number[] = []
  #count: number

  constructor({ constants, cycleNumbers }: Nodes, reads: ReadonlyMap<Node, number>) {
    this.#constantCount = constants.length
    this.#count = constants.length + cycleNumbers.length
    this.#lastReads = reads
  }

  get count(): number {
    return this.#count
  }

  of(node: Node): number {
    if (node.kind === 'constant') return node.position
    if (node.kind === 'cycle') return this.#constantCount + node.position
    return this.#places.get(node) as number
  }

  take(node: Node): number {
    const place = this.#free.pop() ?? this.#count++
    this.#places.set(node, place)
    return place
  }

  /** After step `at` has read these values. */
  release(nodes: readonly Node[], at: number): void {
    for (const node of new Set(nodes)) {
      if (!isGiven(node) && this.#lastReads.get(node) === at) this.#free.push(this.of(node))
    }
  }
}
