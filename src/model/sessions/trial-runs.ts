/**
 * Trial runs of a graph with any inputs, by the process that reports its ports: `models init` learns from the values what no
 * port declares.
 *
 *   the values of each input  →  the float values of each output, as float32; in the header, names, types and sizes
 */
import * as ort from 'onnxruntime-node'
import type { ChildFormat, Message, OwnerFormat } from './messages.js'
import { quietly, type Session } from './graph-session.js'
import { reasonOf } from './onnx-errors.js'
import type { Ports } from './ports.js'

export interface TrialInput {
  readonly name: string
  readonly dtype: 'float32' | 'float64' | 'int64'
  readonly dims: readonly number[]
  readonly values: Float32Array | Float64Array | BigInt64Array
}

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

type Described = Pick<TrialInput, 'name' | 'dtype' | 'dims'>

export const trialOwnerFormat: OwnerFormat<readonly TrialInput[], TrialReply> = {
  replyKind: 'done',
  describe: () => 'a trial run',
  encodeRequest: (inputs) => ({
    header: {
      kind: 'batch',
      inputs: inputs.map(({ name, dtype, dims }): Described => ({ name, dtype, dims })),
    },
    parts: inputs.map(({ values }) => values),
  }),
  decodeReply({ header, parts }) {
    const { outputs, failure } = header as Pick<TrialReply, 'failure'> & {
      readonly outputs: readonly Described[]
    }
    return {
      outputs: outputs.map(({ name, dims }, index) => ({
        name,
        dims,
        values: new Float32Array(bytesOf(parts[index])),
      })),
      failure,
    }
  },
}

export const trialChildFormat: ChildFormat<readonly TrialInput[], TrialReply> = {
  decodeRequest({ header, parts }: Message) {
    const { inputs } = header as { readonly inputs: readonly Described[] }
    return inputs.map((input, index) => ({
      ...input,
      values: new arrays[input.dtype](bytesOf(parts[index])),
    }))
  },
  encodeReply: ({ outputs, failure }) => ({
    header: { kind: 'done', failure, outputs: outputs.map(({ name, dims }) => ({ name, dims })) },
    parts: outputs.map(({ values }) => values),
  }),
}

const arrays = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array } as const

/** A copy, which begins at its own buffer as arrays of wide elements must. */
function bytesOf(part: Uint8Array = new Uint8Array(0)): ArrayBuffer {
  return new Uint8Array(part).buffer
}

/** Runs the graph once for all its float outputs. */
export async function runTrial(
  session: Session,
  { outputs }: Ports,
  inputs: readonly TrialInput[],
): Promise<TrialReply> {
  const feeds = Object.fromEntries(
    inputs.map(({ name, dtype, dims, values }) => [
      name,
      new ort.Tensor(dtype, values as Float32Array, dims),
    ]),
  )
  const names = outputs
    .filter(({ dtype }) => dtype === 'float32' || dtype === 'float64')
    .map(({ name }) => name)
  try {
    const found = await session.run(feeds, names, quietly)
    return {
      outputs: names.map((name) => {
        const { dims = [], data } = found[name] ?? {}
        return { name, dims, values: Float32Array.from(data as Float32Array) }
      }),
      failure: null,
    }
  } catch (error) {
    return { outputs: [], failure: reasonOf(error) }
  }
}
