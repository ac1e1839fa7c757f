/**
 * The thread that owns an ONNX session. `run` blocks its thread for as long as it computes, hence a thread.
 * Imports types only from the project, so that Node runs this file from source as well as built.
 */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import * as ort from 'onnxruntime-node'
import type { Batch, HeadPlace, OwnerMessage, SessionPlan, WorkerMessage } from './worker-protocol.js'

/** The graph is not what the manifest says: no other provider would change that. */
class PortError extends Error {}

if (parentPort !== null) await serve(parentPort, workerData as SessionPlan)

async function serve(port: MessagePort, plan: SessionPlan): Promise<void> {
  const say = (message: WorkerMessage): void => port.postMessage(message)
  const fail = (error: unknown): void => say({ kind: 'failed', reason: reasonOf(error) })
  try {
    const { session, provider } = await openSession(plan, say)
    port.on('message', (message: OwnerMessage) => {
      if (message.kind === 'end') end(session, port)
      else runBatch(session, plan, message).then(() => say({ kind: 'done' }), fail)
    })
    say({ kind: 'ready', provider })
  } catch (error) {
    fail(error)
    port.close()
  }
}

function end(session: ort.InferenceSession, port: MessagePort): void {
  const close = (): void => port.close()
  session.release().then(close, close)
}

interface OpenSession {
  readonly session: ort.InferenceSession
  readonly provider: string
}

async function openSession(plan: SessionPlan, say: (message: WorkerMessage) => void): Promise<OpenSession> {
  const known = ort.listSupportedBackends().map((backend) => backend.name)
  for (const provider of plan.providers) {
    try {
      if (!known.includes(provider)) throw new Error(`this ONNX Runtime knows only ${known.join(', ')}`)
      const session = await createSession(plan, provider)
      checkPorts(session, plan)
      return { session, provider }
    } catch (error) {
      if (error instanceof PortError) throw error
      say({ kind: 'unavailable', provider, reason: reasonOf(error) })
    }
  }
  throw new Error(`no execution provider can serve: tried ${plan.providers.join(', ')}`)
}

function createSession(plan: SessionPlan, provider: string): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(plan.graph, {
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

function checkPorts(session: ort.InferenceSession, plan: SessionPlan): void {
  const wanted = `input ${plan.input} [N, ${plan.featureCount}]`
  if (session.inputNames.length !== 1 || session.inputNames[0] !== plan.input) {
    throw new PortError(`the graph must have ${wanted} alone, and has ${session.inputNames.join(', ')}`)
  }
  const shape = tensorShape(session.inputMetadata, plan.input)
  const [rows, columns] = shape
  if (
    shape.length !== 2 ||
    typeof rows === 'number' ||
    (typeof columns === 'number' && columns !== plan.featureCount)
  ) {
    throw new PortError(`the graph must have ${wanted}, and has it as [${shape.join(', ')}]`)
  }
  for (const head of plan.heads) checkHead(session, head)
}

function checkHead(session: ort.InferenceSession, head: HeadPlace): void {
  if (!session.outputNames.includes(head.output)) {
    throw new PortError(`the graph has no output ${head.output}, but ${session.outputNames.join(', ')}`)
  }
  const shape = tensorShape(session.outputMetadata, head.output)
  const [rows, columns] = shape
  const columnCount = shape.length === 1 ? 1 : columns
  if (shape.length < 1 || shape.length > 2 || typeof rows === 'number') {
    throw new PortError(`output ${head.output} must be [N] or [N, columns], and is [${shape.join(', ')}]`)
  }
  if (typeof columnCount === 'number' && head.column >= columnCount) {
    throw new PortError(`output ${head.output} has no column ${head.column}: it is [${shape.join(', ')}]`)
  }
}

function tensorShape(
  ports: readonly ort.InferenceSession.ValueMetadata[],
  name: string,
): readonly (number | string)[] {
  const port = ports.find((candidate) => candidate.name === name)
  if (port?.isTensor !== true || port.type !== 'float32')
    throw new PortError(`${name} must be a float32 tensor`)
  return port.shape
}

async function runBatch(session: ort.InferenceSession, plan: SessionPlan, batch: Batch): Promise<void> {
  const { count } = batch
  const matrix = new Float32Array(batch.features, 0, count * plan.featureCount)
  const input = new ort.Tensor('float32', matrix, [count, plan.featureCount])
  const wanted = [...new Set(plan.heads.map((head) => head.output))]
  const outputs = await session.run({ [plan.input]: input }, wanted)
  plan.heads.forEach((head, index) => {
    const output = outputs[head.output]
    const target = new Float32Array(batch.heads, index * count * Float32Array.BYTES_PER_ELEMENT, count)
    copyColumn(output, head, target)
  })
}

function copyColumn(output: ort.OnnxValue | undefined, head: HeadPlace, target: Float32Array): void {
  const columnCount = output?.dims.length === 1 ? 1 : (output?.dims[1] ?? 0)
  const values = output?.data
  if (
    !(values instanceof Float32Array) ||
    values.length !== target.length * columnCount ||
    head.column >= columnCount
  ) {
    throw new Error(
      `output ${head.output} came as [${String(output?.dims)}] for a batch of ${target.length} rows`,
    )
  }
  for (let row = 0, at = head.column; row < target.length; row++, at += columnCount) {
    target[row] = values[at] as number
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
