/**
 * The heads of a model: one graph or several, run one after the other over the same rows. Doubles are converted at the
 * edges; all else of the product is float32.
 */
import * as ort from 'onnxruntime-node'
import { headInputs, headPortProblems, type HeadInput } from '../graph-ports/index.js'
import { openGraph, type GraphSession } from './graph-session.js'
import type { HeadMemory, Matrices } from './head-memory.js'
import type { Program } from './program.js'
import type { HeadGraphPlan, HeadPlace, HeadsPlan, Unavailable } from './protocol.js'

/** Rows to predict, and where to write: heads in the order of the plan. */
export interface HeadsBatch extends HeadMemory {
  readonly count: number
}

interface OpenGraph extends GraphSession {
  readonly plan: HeadGraphPlan
  readonly inputs: readonly HeadInput[]
}

/** See `OpenProgram`. A batch is answered where it says. */
export async function openHeadsProgram(
  plan: HeadsPlan,
  say: (unavailable: Unavailable) => void,
): Promise<Program<HeadsBatch, void>> {
  const graphs: OpenGraph[] = []
  const close = async (): Promise<void> => {
    await Promise.all(graphs.map(({ session }) => session.release()))
  }
  try {
    for (const graph of plan.graphs) {
      const open = await openGraph(graph, (file) => headPortProblems(file, graph, plan), say)
      graphs.push({ ...open, plan: graph, inputs: headInputs(open.file, graph, plan) })
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    provider: [...new Set(graphs.map(({ provider }) => provider))].join('+'),
    async run(batch) {
      for (const graph of graphs) await runGraph(graph, plan, batch)
    },
    close,
  }
}

async function runGraph({ session, plan, inputs }: OpenGraph, { heads }: HeadsPlan, batch: HeadsBatch) {
  const feeds = Object.fromEntries(
    inputs.map((input) => [input.name, tensorOf(input, batch.matrices, batch.count)]),
  )
  const wanted = [...new Set(plan.heads.map(({ output }) => output))]
  const outputs = await session.run(feeds, wanted)
  for (const place of plan.heads) {
    copyHead(outputs[place.output], place, batch.heads[heads.indexOf(place.head)] as Float32Array)
  }
}

function tensorOf({ matrix, type, columnCount }: HeadInput, matrices: Matrices, count: number): ort.Tensor {
  const values = matrices[matrix]
  return type === 'float32'
    ? new ort.Tensor('float32', values, [count, columnCount])
    : new ort.Tensor('float64', new Float64Array(values), [count, columnCount])
}

function copyHead(output: ort.OnnxValue | undefined, place: HeadPlace, target: Float32Array): void {
  const { output: name, column, activation } = place
  const columnCount = output?.dims.length === 1 ? 1 : (output?.dims[1] ?? 0)
  const values = output?.data
  if (
    !(values instanceof Float32Array || values instanceof Float64Array) ||
    values.length !== target.length * columnCount ||
    (column === null ? columnCount !== 1 : column >= columnCount)
  ) {
    throw new Error(`output ${name} came as [${String(output?.dims)}] for a batch of ${target.length} rows`)
  }
  for (let row = 0, at = column ?? 0; row < target.length; row++, at += columnCount) {
    target[row] = values[at] as number
  }
  if (activation !== 'none') activate(target, activation)
}

/** What is not finite stays so, for it must show. */
function activate(values: Float32Array, activation: 'sigmoid' | 'clip'): void {
  for (let row = 0; row < values.length; row++) {
    const value = values[row] as number
    if (!Number.isFinite(value)) continue
    values[row] = activation === 'sigmoid' ? 1 / (1 + Math.exp(-value)) : Math.min(Math.max(value, 0), 1)
  }
}
