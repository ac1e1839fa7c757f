/**
 * The headers of the messages between a child process and its parent. Types only.
 * The parent sends `open`. The child sends `log` lines, `opened` before a first run of its graphs, and then `ready` or
 * `failed`. After that the reply to each `batch` is one `done`, or `failed`, after which the child cannot be used.
 */
import type { GraphPlan, ServingPlan } from './plans.js'

export type ProcessPlan = ServingPlan | PortsPlan

/** Opens a graph, reports its inputs and outputs, and makes trial runs. */
export interface PortsPlan extends GraphPlan {
  readonly role: 'ports'
}

export interface OpenHeader {
  readonly kind: 'open'
  readonly plan: ProcessPlan
}

export type ChildHeader =
  | {
      readonly kind: 'log'
      readonly level: 'warn' | 'error'
      readonly fields: object
      readonly message: string
    }
  | ReadyHeader
  | { readonly kind: 'opened' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done' }

export interface ReadyHeader {
  readonly kind: 'ready'
  /** Execution provider that serves, such as `cpu`; for several graphs, the distinct providers joined by `+`. */
  readonly provider: string
  /** What a `ports` process has found. */
  readonly report?: unknown
}
