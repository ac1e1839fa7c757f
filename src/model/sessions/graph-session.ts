/**
 * Opens ONNX graphs, for the programs of all roles: the file is read and hashed, providers are tried one by one.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import * as ort from 'onnxruntime-node'
import { fileProblems } from '../graph-ports/index.js'
import { readOnnx, type OnnxFile } from '../onnx-file/index.js'
import type { FilePlan, GraphPlan, Unavailable } from './protocol.js'
import { SessionThreads } from './session-threads.js'

/** Such as `/onnxruntime_src/core/graph/model.cc:202 onnxruntime::Model::Model(onnx::ModelProto&&, …) `. */
const sourcePlace =
  /(?<!\S)\/\S+\.(?:cc|h|cpp|hpp|cu|cuh):\d+ [^(\n]*\((?:[^()\n]|\([^()\n]*\))*\)(?: const)?(?: \[with [^\]\n]*\])? /

/** The graph is not what the manifest says: no other provider would change that. */
export class PortError extends Error {}

/** What programs use of an ONNX Runtime session. */
export interface Session {
  readonly inputNames: readonly string[]
  run(
    feeds: ort.InferenceSession.FeedsType,
    wanted: readonly string[],
  ): Promise<ort.InferenceSession.ReturnType>
  release(): Promise<void>
}

export interface GraphSession {
  readonly session: Session
  /** The provider that serves. */
  readonly provider: string
  /** What the graph says of itself. */
  readonly file: OnnxFile
}

/** The bytes of a file of the package. Rejects when they are not those that the manifest means. */
export async function readChecked({ file, sha256 }: FilePlan): Promise<Uint8Array> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new Error(`${file} cannot be read: ${reasonOf(cause)}`, { cause })
  })
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== sha256) throw new Error(`${file} has SHA-256 ${found}, and its manifest says ${sha256}`)
  return bytes
}

/**
 * Opens the graph with the first provider that can serve it. `problemsOf` compares its ports with the plan, as `verify`
 * does; where they differ this rejects with a `PortError`. `say` hears of each provider that cannot and after which
 * another one is tried; why the last one cannot is in the error.
 */
export async function openGraph(
  plan: GraphPlan,
  problemsOf: (file: OnnxFile) => readonly string[],
  say: (unavailable: Unavailable) => void,
): Promise<GraphSession> {
  const graph = await readChecked(plan)
  const file = readOnnx(graph, plan.file)
  const problems = [...fileProblems(file), ...problemsOf(file)]
  if (problems.length > 0) throw new PortError(`${plan.file}: ${problems.join('; ')}`)
  const known = ort.listSupportedBackends().map((backend) => backend.name)
  let last: Unavailable | null = null
  for (const provider of plan.providers) {
    if (last !== null) say(last)
    try {
      if (!known.includes(provider)) throw new Error(`this ONNX Runtime knows only ${known.join(', ')}`)
      return { session: await openSession(graph, plan, provider), provider, file }
    } catch (error) {
      last = { provider, file: plan.file, reason: reasonOf(error) }
    }
  }
  const why = last === null ? '' : `; ${last.provider}: ${last.reason}`
  throw new Error(`${plan.file}: no execution provider can serve: tried ${plan.providers.join(', ')}${why}`)
}

async function openSession(graph: Uint8Array, plan: GraphPlan, provider: string): Promise<Session> {
  const { session, threads } = await SessionThreads.of(() => createSession(graph, plan, provider))
  return {
    inputNames: session.inputNames,
    run(feeds, wanted) {
      threads.keepOff()
      return session.run(feeds, wanted)
    },
    release: () => session.release(),
  }
}

function createSession(graph: Uint8Array, plan: GraphPlan, provider: string): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(graph, {
    // One at a time: in a list, ONNX Runtime would skip one that fails without a word (onnxruntime#23372).
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
        // A provider that leaves nodes to the CPU does not serve this model, whatever its name says.
        ...(provider === 'cpu' ? {} : { disable_cpu_ep_fallback: '1' }),
      },
    },
  })
}

/** The message of anything that was thrown, without what ONNX Runtime may put around it: a place in its source, a full stop. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(sourcePlace, '').trim().replace(/\.$/, '')
}
