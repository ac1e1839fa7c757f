/**
 * Opens ONNX graphs, for the programs of all roles: reads and hashes the file and those of its weights, and creates the session
 * from those very bytes, with one provider after another. Trial runs decide whether a provider serves.
 */
import * as ort from 'onnxruntime-node'
import { ignoringErrors, type Log } from '../../base/index.js'
import { readExternalData, type ExternalData } from './external-data.js'
import { float32Of } from './floats.js'
import { portText, type Port, type Ports } from './ports.js'
import { readHashed } from '../package/read-file.js'
import type { EncoderOutput } from './pooling.js'
import type { GraphPlan } from './plans.js'
import { graphProblem, reasonOf } from './onnx-errors.js'
import {
  isMostlyOnCpu,
  nodesText,
  Profile,
  takesNothing,
  type NodePlacement,
  type Placement,
} from './placement.js'

/** The graph does not have the inputs and outputs of the manifest: another provider would not change that. */
export class PortError extends Error {}

export type Session = Pick<ort.InferenceSession, 'inputNames' | 'run'>

/** ONNX Runtime prints an error of a run unless this is set. The caller gets it, and reports it once. */
export const quietly: ort.InferenceSession.RunOptions = { logSeverityLevel: 4 }

export interface GraphSession {
  readonly session: Session
  /** The provider that serves, and where the nodes run. */
  readonly placement: Placement
  readonly ports: Ports
}

/** A session before its trial runs. */
export type OpenedGraph = Omit<GraphSession, 'placement'> & { readonly provider: string }

export interface GraphChecks {
  /** Compares the ports with the plan. */
  readonly problemsOf: (ports: Ports) => readonly string[]
  /** Runs the graph once, as the program will. Rejects if the session cannot serve. Default: no provider is tried by a run. */
  readonly trial?: (opened: OpenedGraph) => Promise<unknown>
}

/** The first prepares the device. */
const trialRunCount = 4

/**
 * Opens the graph with the first provider that can serve it. If its ports differ from the plan this rejects with a
 * `PortError`. Another provider than the CPU must pass trial runs, which also show where the nodes run. Logs each provider
 * that cannot serve and is followed by another one; the error states why the last one cannot.
 */
export async function openGraph(
  plan: GraphPlan,
  { problemsOf, trial }: GraphChecks,
  log: Log,
): Promise<GraphSession> {
  const graph = await readHashed(plan.file, plan.sha256, plan.copy)
  const externalData = await readExternalData(graph, plan)
  const known = ort.listSupportedBackends().map((backend) => backend.name)
  const refused: string[] = []
  for (const provider of plan.providers) {
    const profile = provider === 'cpu' || trial === undefined ? null : new Profile()
    let created: ort.InferenceSession | null = null
    try {
      if (!known.includes(provider)) throw new Error(`this ONNX Runtime supports only ${known.join(', ')}`)
      const session = await createSession({ graph, externalData }, plan, provider, profile)
      created = session
      const ports = { inputs: session.inputMetadata.map(portOf), outputs: session.outputMetadata.map(portOf) }
      const problems = problemsOf(ports)
      if (problems.length > 0) throw new PortError(`${plan.file}: ${problems.join('; ')}`)
      const nodes =
        profile === null || trial === undefined
          ? null
          : await profiled(session, profile, () => trial({ session, ports, provider }))
      const placement = { file: plan.file, provider, refused, nodes }
      checkPlacement(placement, plan, log)
      return { session, placement, ports }
    } catch (error) {
      // The memory of a device is needed for the next provider, and by others.
      await ignoringErrors(() => created?.release())
      if (error instanceof PortError) throw error
      const problem = graphProblem(error, graph)
      if (problem !== null) throw new Error(`${plan.file} ${problem}`, { cause: error })
      refused.push(`${provider}: ${reasonOf(error)}`)
      if (refused.length < plan.providers.length) {
        log.warn({ provider }, `execution provider ${provider} cannot serve ${plan.file}: ${reasonOf(error)}`)
      }
    } finally {
      profile?.remove()
    }
  }
  const tried = plan.providers.join(', ')
  throw new Error(
    `${plan.file}: no execution provider can run this graph: tried ${tried}; ${refused.at(-1) ?? ''}`,
  )
}

/** Where the nodes run in trial runs. A session that fails in one is of no further use. */
async function profiled(
  session: ort.InferenceSession,
  profile: Profile,
  run: () => Promise<unknown>,
): Promise<NodePlacement> {
  for (let count = 0; count < trialRunCount; count++) await run()
  session.endProfiling()
  return profile.read()
}

/** Throws an Error if the provider leaves too much of the graph to the CPU. */
function checkPlacement(placement: Placement, { mostlyOnCpu = 'refuse' }: GraphPlan, log: Log): void {
  const { file, provider, nodes } = placement
  if (nodes === null) return
  if (takesNothing(nodes)) throw new Error(`it leaves all ${nodes.count} nodes to the CPU`)
  if (!isMostlyOnCpu(placement)) return
  if (mostlyOnCpu === 'refuse') throw new Error(`the graph would run mostly on the CPU: ${nodesText(nodes)}`)
  log.warn(
    { provider },
    `${file} runs mostly on the CPU, although ${provider} serves it: ${nodesText(nodes)}`,
  )
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
  const output = (await session.run(feeds, [name], quietly))[name]
  const { dims = [], type = null } = output ?? {}
  const port = { name, dtype: type, shape: dims }
  const [problem] = problemsOf(port)
  if (problem !== undefined) throw new PortError(`${problem}, in a batch of ${sizes[0]}`)
  const isOfBatch = dims.slice(0, -1).every((size, index) => size === (sizes[index] ?? size))
  const values = float32Of(output)
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
  profile: Profile | null,
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
    ...(profile === null ? {} : { enableProfiling: true, profileFilePrefix: profile.filePrefix }),
    extra: {
      // Idle threads would otherwise spin for a while after every batch, at the cost of everything else.
      session: { intra_op: { allow_spinning: '0' } },
    },
  })
}

/** ONNX Runtime gives '' for a free dimension without a name, and no dimensions for a scalar and for an unknown rank. */
function portOf(metadata: ort.InferenceSession.ValueMetadata): Port {
  if (!metadata.isTensor) return { name: metadata.name, dtype: null, shape: null }
  const shape = metadata.shape.map((size) => (size === '' ? null : size))
  return { name: metadata.name, dtype: metadata.type, shape: shape.length === 0 ? null : shape }
}
