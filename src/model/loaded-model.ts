/**
 * A model that serves: package, features and session worker put together behind the `Model` interface.
 */
import { availableParallelism } from 'node:os'
import { headNames, type HeadColumns, type HeadName } from '../contract/index.js'
import type { ScoringInputs } from '../pool/index.js'
import { fillFeatures } from './features/index.js'
import type { ModelLog } from './log.js'
import type { Manifest } from './manifest.js'
import { ModelError, type Model } from './model.js'
import { activeVersion, readPackage, type ModelPackage } from './package.js'
import { SessionHost } from './session-host.js'
import { startMsMax, startThread, type SessionWorker, type SessionWorkerOptions } from './session-worker.js'
import type { SessionPlan } from './worker-protocol.js'

const timeLimitMsDefault = 30_000
const intraOpThreadsDefault = Math.min(2, availableParallelism())
/** Batches of a new worker before it may serve: the least, and one large enough for all threads. */
const warmUpCounts = [1, 256]

export interface LoadOptions {
  readonly modelsDir: string
  /** Without one, the version that `ACTIVE` names. */
  readonly version?: string
  /** ONNX Runtime's names, such as `cuda` and `cpu`; the first that can serve the model does. */
  readonly executionProviders: readonly string[]
  /** Default: what the manifest says, else 2, or 1 on a single core. */
  readonly intraOpThreads?: number
  /** For one batch; past it the worker is replaced. Default 30 s. */
  readonly timeLimitMs?: number
  readonly log: ModelLog
  /** For tests that need a hand on the thread. */
  readonly startThread?: SessionWorkerOptions['startThread']
}

export interface LoadedModel extends Model {
  /** False while the worker is being replaced: `predict` rejects at once. */
  readonly available: boolean
  close(): Promise<void>
}

/**
 * Loads a model package, opens its session in a thread and warms it up. Rejects with a `ModelError` that says what
 * is wrong with the package, or why no provider can serve it; then nothing is left running.
 */
export async function loadModel(options: LoadOptions): Promise<LoadedModel> {
  const version = options.version ?? (await activeVersion(options.modelsDir))
  const modelPackage = await readPackage(options.modelsDir, version)
  const { manifest, features } = modelPackage
  const heads = headsOf(manifest)
  const host = await SessionHost.open({
    plan: planOf(modelPackage, options),
    log: options.log,
    timeLimitMs: options.timeLimitMs ?? timeLimitMsDefault,
    startThread: options.startThread ?? startThread,
    warmUp: (worker) => warmUp(worker, heads),
  })
  return {
    version,
    kind: manifest.kind,
    get provider() {
      return host.provider
    },
    get available() {
      return host.available
    },
    async predict(inputs: ScoringInputs, onFeatures?: () => void): Promise<HeadColumns> {
      if (inputs.count === 0) return headColumns(heads, () => new Float32Array(0))
      const columns = await host.run(inputs.count, (matrix) => {
        fillFeatures(features, inputs, matrix)
        onFeatures?.()
      })
      checkHeads(heads, columns)
      return headColumns(heads, (index) => columns[index] as Float32Array)
    },
    close: () => host.close(),
  }
}

/** The heads that the model has, in the order of the contract. */
function headsOf(manifest: Manifest): HeadName[] {
  return headNames.filter((name) => manifest.head.outputs[name] !== undefined)
}

function planOf({ manifest, head }: ModelPackage, options: LoadOptions): SessionPlan {
  const { outputs, input } = manifest.head
  return {
    graph: head,
    providers: providersOf(manifest, options),
    intraOpThreads: options.intraOpThreads ?? manifest.intra_op_threads ?? intraOpThreadsDefault,
    input,
    featureCount: manifest.features.length,
    heads: headsOf(manifest).flatMap((name) => {
      const output = outputs[name]
      return output === undefined ? [] : [{ output: output.name, column: output.column ?? 0 }]
    }),
  }
}

function providersOf(manifest: Manifest, { executionProviders, log }: LoadOptions): string[] {
  const checked = manifest.execution_providers
  const usable = executionProviders.filter((provider) => checked?.includes(provider) ?? true)
  for (const provider of executionProviders.filter((name) => !usable.includes(name))) {
    log.warn({ provider }, `execution provider ${provider} is passed over: the manifest does not list it`)
  }
  if (usable.length > 0) return usable
  throw new ModelError(
    `model ${manifest.model_version} has no execution provider: configured are ` +
      `${executionProviders.join(', ') || 'none'}, its manifest lists ${checked?.join(', ') ?? 'any'}`,
  )
}

/** Rows of zeros: the heads must hold what they promise for them too. */
async function warmUp(worker: SessionWorker, heads: readonly HeadName[]): Promise<void> {
  for (const count of warmUpCounts) {
    checkHeads(heads, await worker.run(count, (matrix) => matrix.fill(0), startMsMax))
  }
}

function checkHeads(heads: readonly HeadName[], columns: readonly Float32Array[]): void {
  heads.forEach((head, index) => {
    const values = columns[index] as Float32Array
    let badCount = 0
    let firstBad = -1
    for (let row = 0; row < values.length; row++) {
      const value = values[row] as number
      // Written so that NaN is bad.
      if (value >= 0 && value <= 1) continue
      if (badCount === 0) firstBad = row
      badCount++
    }
    if (badCount === 0) return
    throw new ModelError(
      `head ${head}: ${badCount} of ${values.length} rows are not finite and within 0 to 1, ` +
        `the first is row ${firstBad} with ${values[firstBad]}`,
    )
  })
}

function headColumns(
  heads: readonly HeadName[],
  columnOf: (index: number) => Float32Array,
): Record<HeadName, Float32Array | null> {
  const column = (name: HeadName): Float32Array | null => {
    const index = heads.indexOf(name)
    return index < 0 ? null : columnOf(index)
  }
  return {
    p_views: column('p_views'),
    p_comments: column('p_comments'),
    p_up: column('p_up'),
    downvote_share: column('downvote_share'),
  }
}
