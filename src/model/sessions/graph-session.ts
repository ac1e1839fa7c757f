/**
 * Opens ONNX graphs, for the programs of all roles: reads and hashes the file and those of its weights, and creates the session
 * from those very bytes, with one provider after another.
 */
import * as ort from 'onnxruntime-node'
import type { Log } from '../../base/index.js'
import { readExternalData, type ExternalData } from './external-data.js'
import { float32Of } from './floats.js'
import { portText, type Port, type Ports } from './ports.js'
import { readHashed } from '../package/read-file.js'
import type { EncoderOutput } from './pooling.js'
import type { GraphPlan } from './plans.js'
import { graphProblem, reasonOf } from './onnx-errors.js'

/** The graph does not have the inputs and outputs of the manifest: another provider would not change that. */
export class PortError extends Error {}

export type Session = Pick<ort.InferenceSession, 'inputNames' | 'run'>

/** ONNX Runtime prints an error of a run unless this is set. The caller gets it, and reports it once. */
export const quietly: ort.InferenceSession.RunOptions = { logSeverityLevel: 4 }

export interface GraphSession {
  readonly session: Session
  /** The provider that serves. */
  readonly provider: string
  readonly ports: Ports
}

/**
 * Opens the graph with the first provider that can serve it. `problemsOf` compares its ports with the plan; if they
 * differ this rejects with a `PortError`. Logs each provider that cannot serve and is followed by another one; the error
 * states why the last one cannot.
 */
export async function openGraph(
  plan: GraphPlan,
  problemsOf: (ports: Ports) => readonly string[],
  log: Log,
): Promise<GraphSession> {
  const graph = await readHashed(plan.file, plan.sha256, plan.copy)
  const externalData = await readExternalData(graph, plan)
  const known = ort.listSupportedBackends().map((backend) => backend.name)
  let lastReason = ''
  for (const [index, provider] of plan.providers.entries()) {
    try {
      if (!known.includes(provider)) throw new Error(`this ONNX Runtime supports only ${known.join(', ')}`)
      const session = await createSession({ graph, externalData }, plan, provider)
      const ports = { inputs: session.inputMetadata.map(portOf), outputs: session.outputMetadata.map(portOf) }
      const problems = problemsOf(ports)
      if (problems.length === 0) return { session, provider, ports }
      throw new PortError(`${plan.file}: ${problems.join('; ')}`)
    } catch (error) {
      if (error instanceof PortError) throw error
      const problem = graphProblem(error, graph)
      if (problem !== null) throw new Error(`${plan.file} ${problem}`, { cause: error })
      const reason = reasonOf(error)
      lastReason = `${provider}: ${reason}`
      if (index + 1 < plan.providers.length) {
        log.warn({ provider }, `execution provider ${provider} cannot serve ${plan.file}: ${reason}`)
      }
    }
  }
  const tried = plan.providers.join(', ')
  throw new Error(`${plan.file}: no execution provider can run this graph: tried ${tried}; ${lastReason}`)
}

/**
 * Runs the graph of an encoder for its output `name`. Rejects with a `PortError` if that output has problems, or if its sizes
 * do not begin with `sizes`, those of the batch, before its width.
 */
export async function runEncoder(
  session: Session,
  feeds: Record<string, ort.Tensor>,
  name: string,
  sizes: readonly number[],
  problemsOf: (port: Port) => readonly string[],
): Promise<EncoderOutput> {
  const found = (await session.run(feeds, [name], quietly))[name]
  const { dims = [], type = null } = found ?? {}
  const port = { name, dtype: type, shape: dims }
  const [problem] = problemsOf(port)
  if (problem !== undefined) throw new PortError(`${problem}, in a batch of ${sizes[0]}`)
  const isOfBatch = dims.slice(0, -1).every((size, index) => size === (sizes[index] ?? size))
  const values = float32Of(found)
  if (!isOfBatch || values === null)
    throw new PortError(`output ${name} is ${portText(port)} for a batch of [${sizes.join(', ')}]`)
  return { values, dims }
}

/** The bytes of a graph and of its weights in other files, all of which were hashed. */
interface GraphBytes {
  readonly graph: Uint8Array
  readonly externalData: readonly ExternalData[]
}

function createSession(
  { graph, externalData }: GraphBytes,
  plan: GraphPlan,
  provider: string,
): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(graph, {
    ...(externalData.length === 0 ? {} : { externalData }),
    // One at a time: in a list, ONNX Runtime would silently skip one that fails (onnxruntime#23372).
    executionProviders: [provider],
    intraOpNumThreads: plan.intraOpThreads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
    extra: {
      session: {
        // Idle threads would otherwise spin for a while after every batch, at the cost of everything else.
        intra_op: { allow_spinning: '0' },
        // A provider that leaves nodes to the CPU does not serve this model.
        ...(provider === 'cpu' ? {} : { disable_cpu_ep_fallback: '1' }),
      },
    },
  })
}

/** ONNX Runtime gives '' for a free dimension without a name, and no dimensions for a scalar and for an unknown rank. */
function portOf(metadata: ort.InferenceSession.ValueMetadata): Port {
  if (!metadata.isTensor) return { name: metadata.name, dtype: null, shape: null }
  const shape = metadata.shape.map((size) => (size === '' ? null : size))
  return { name: metadata.name, dtype: metadata.type, shape: shape.length === 0 ? null : shape }
}
