/**
 * How batches of a role reach a child, on the owner's side. One courier per child: what it shares with one that was
 * killed, the next one never sees.
 */
import { ModelError } from '../model.js'
import type { StartedProcess } from '../processes/index.js'
import { Doorbell } from './doorbell.js'
import { frameOf, type FrameFormat } from './frames.js'
import { batchBytes, matrixBytes, viewBatch, type Matrices } from './head-memory.js'
import type { HeadsPlan, HeadsRequest, OwnerMessage } from './protocol.js'
import { SharedMemory } from './shared-memory.js'

/** The child, which has been started. */
export type Listener = Pick<StartedProcess, 'pid' | 'messages'>

export interface Courier<Request, Reply> {
  /** Descriptors that the child inherits; null: it needs none. */
  readonly memory: number | null
  readonly doorbell: number | null
  /** Hands over a request. Throws a `ModelError` when there is no room for it. */
  send(request: Request, child: Listener): void
  /** The reply to the request that was sent last, out of what came back. */
  receive(reply: unknown): Reply
  close(): void
}

/** For roles whose requests and replies go through the pipe as they are. */
export function plainCourier<Request, Reply>(): Courier<Request, Reply> {
  return {
    memory: null,
    doorbell: null,
    send: (request, { messages }) => messages?.write(batchFrame(request, 'clone')),
    receive: (reply) => reply as Reply,
    close: () => undefined,
  }
}

export interface HeadRows {
  readonly count: number
  /** Writes the matrices, and must write all of them: the memory is reused. */
  readonly fill: (matrices: Matrices) => void
}

/** Rows are written right into the memory of the child. Replies are the heads of the plan, in memory of their own. */
export function headsCourier(plan: HeadsPlan): Courier<HeadRows, Float32Array[]> {
  const memory = SharedMemory.create()
  const doorbell = Doorbell.create()
  let count = 0
  const batch = () => viewBatch(plan, count, reserve(memory, batchBytes(plan, count)))
  return {
    memory: memory.descriptor,
    doorbell: doorbell?.descriptor ?? null,
    send(rows, { pid, messages }) {
      count = rows.count
      rows.fill(batch().matrices)
      memory.publish(0, matrixBytes(plan, count))
      const request: HeadsRequest = count
      if (doorbell === null) messages?.write(batchFrame(request, 'json'))
      else doorbell.ring(request, pid)
    },
    receive() {
      const { heads } = batch()
      memory.fetch(matrixBytes(plan, count), batchBytes(plan, count))
      return heads.map((values) => values.slice())
    },
    close() {
      memory.close()
      doorbell?.close()
    },
  }
}

function batchFrame(request: unknown, format: FrameFormat): Buffer {
  const message: OwnerMessage = { kind: 'batch', request }
  return frameOf(message, format)
}

function reserve(memory: SharedMemory, bytes: number): ArrayBuffer {
  try {
    return memory.reserve(bytes)
  } catch (cause) {
    const reason = (cause as Error).message
    throw new ModelError(`there is no room for a batch of ${bytes} bytes: ${reason}`, { cause })
  }
}
