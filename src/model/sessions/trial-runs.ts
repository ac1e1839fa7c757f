/**
 * Trial runs of a graph with any inputs, by the process that reports its ports: `models init` learns from the values what no
 * port declares.
 *
 *   the values of each input, as float32  →  those of each output of floats; in the header, names, types and sizes
 */
import * as ort from 'onnxruntime-node'
import { float32Of, isFloat, numberTensor, type FloatType, type IntegerType } from './floats.js'
import type { ChildFormat, Message, OwnerFormat } from './messages.js'
import { quietly, type Session } from './graph-session.js'
import { reasonOf } from './onnx-errors.js'
import type { Ports } from './ports.js'

export interface TrialInput {
  readonly name: string
  /** That of the port, to which the values are converted. */
  readonly type: TrialType
  readonly dims: readonly number[]
  readonly values: Float32Array
}

export type TrialType = FloatType | IntegerType | 'uint8'

export interface TrialOutput {
  readonly name: string
  readonly dims: readonly number[]
  readonly values: Float32Array
}

/** `failure`: why the graph returns an error; then there are no outputs. Outputs that are no floats are left out. */
export interface TrialReply {
  readonly outputs: readonly TrialOutput[]
  readonly failure: string | null
}

type Described<T extends TrialInput | TrialOutput> = Omit<T, 'values'>

export const trialOwnerFormat: OwnerFormat<readonly TrialInput[], TrialReply> = {
  replyKind: 'done',
  describe: () => 'a trial run',
  encodeRequest: (inputs) => ({
    header: {
      kind: 'batch',
      inputs: inputs.map(({ name, type, dims }): Described<TrialInput> => ({ name, type, dims })),
    },
    parts: inputs.map(({ values }) => values),
  }),
  decodeReply({ header, parts }) {
    const { outputs, failure } = header as Pick<TrialReply, 'failure'> & {
      readonly outputs: readonly Described<TrialOutput>[]
    }
    return { outputs: outputs.map((output, index) => ({ ...output, values: floats(parts[index]) })), failure }
  },
}

export const trialChildFormat: ChildFormat<readonly TrialInput[], TrialReply> = {
  decodeRequest({ header, parts }: Message) {
    const { inputs } = header as { readonly inputs: readonly Described<TrialInput>[] }
    return inputs.map((input, index) => ({ ...input, values: floats(parts[index]) }))
  },
  encodeReply: ({ outputs, failure }) => ({
    header: { kind: 'done', failure, outputs: outputs.map(({ name, dims }) => ({ name, dims })) },
    parts: outputs.map(({ values }) => values),
  }),
}

/** A copy: the memory of a message is used again. */
function floats(part: Uint8Array = new Uint8Array(0)): Float32Array {
  return new Float32Array(new Uint8Array(part).buffer)
}

/** Runs the graph once for all its outputs of floats. */
export async function runTrial(
  session: Session,
  { outputs }: Ports,
  inputs: readonly TrialInput[],
): Promise<TrialReply> {
  const feeds = Object.fromEntries(inputs.map((input) => [input.name, tensorOf(input)]))
  const names = outputs.filter(({ dtype }) => isFloat(dtype)).map(({ name }) => name)
  // The runtime refuses to compute nothing.
  if (names.length === 0) return { outputs: [], failure: null }
  try {
    const outputs = await session.run(feeds, names, quietly)
    return {
      outputs: names.map((name) => ({
        name,
        dims: outputs[name]?.dims ?? [],
        values: float32Of(outputs[name]) ?? new Float32Array(0),
      })),
      failure: null,
    }
  } catch (error) {
    return { outputs: [], failure: reasonOf(error) }
  }
}

function tensorOf({ type, dims, values }: TrialInput): ort.Tensor {
  return type === 'uint8'
    ? new ort.Tensor('uint8', Uint8Array.from(values), dims)
    : numberTensor(type, values, dims)
}
