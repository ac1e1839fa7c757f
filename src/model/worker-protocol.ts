/**
 * What the model's thread and its owner say to each other. Types only: the worker loads nothing of the project.
 * The thread answers its start with `unavailable` lines and then `ready` or `failed`, and each batch with one message.
 */

/** A graph and how to run it. Sent as `workerData`. */
export interface SessionPlan {
  /** The ONNX file. */
  readonly graph: Uint8Array
  /** Tried in this order, each alone. */
  readonly providers: readonly string[]
  readonly intraOpThreads: number
  /** Name of the graph input [N, featureCount], float32. */
  readonly input: string
  readonly featureCount: number
  /** Where heads are found, in the order in which they are written. */
  readonly heads: readonly HeadPlace[]
}

/** A head is one column of a float32 output [N, columns], or an output [N], whose only column is 0. */
export interface HeadPlace {
  readonly output: string
  readonly column: number
}

/** What the owner says: a batch, or that the thread should end when it has nothing else to do. */
export type OwnerMessage = Batch | { readonly kind: 'end' }

/** A batch. Memory is shared: nothing is copied on the way, and only one side touches it at a time. */
export interface Batch {
  readonly kind: 'batch'
  readonly count: number
  /** Row-major [count, featureCount] float32 at the front. */
  readonly features: SharedArrayBuffer
  /** Written by the worker: [heads, count] float32 at the front. */
  readonly heads: SharedArrayBuffer
}

export type WorkerMessage =
  /** A provider that cannot serve, and why. */
  | { readonly kind: 'unavailable'; readonly provider: string; readonly reason: string }
  | { readonly kind: 'ready'; readonly provider: string }
  /** The session cannot serve, at the start or in a batch; the thread is of no further use. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done' }
