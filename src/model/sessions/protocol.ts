/**
 * The headers of the messages between a child process and its parent. Types only.
 * The parent sends `open`. The child sends `log` lines, `opened` before the first runs of a graph, and then `ready` or
 * `failed`. After that the reply to each `batch` is one `done`, or `failed`, after which the child cannot be used.
 */
import type { Placement } from './placement.js'
import type { GraphPlan, ServingPlan, TextReaderPlan } from './plans.js'
import type { Ports } from './ports.js'

export type ProcessPlan = ServingPlan | PortsPlan | TokenizerPlan

/** Opens a graph, reports its inputs and outputs, and makes trial runs. */
export interface PortsPlan extends GraphPlan {
  readonly role: 'ports'
}

/** Opens the tokenizer of a text encoder alone, and compares its golden tokens. */
export interface TokenizerPlan extends TextReaderPlan {
  readonly role: 'tokenizer'
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
  /** One per graph. */
  readonly placements: readonly Placement[]
  /** One per graph, in the same order. */
  readonly ports: readonly Ports[]
}
