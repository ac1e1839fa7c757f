/**
 * Work that nobody waits for. Its failure must not end the process, as an unhandled rejection would, and must not be
 * lost either: it is published on a channel, and the server logs and counts it. The linter refuses promises that are
 * neither awaited nor passed to `inBackground`.
 */
import { channel } from 'node:diagnostics_channel'

/** What runs in the background; the label of a metric. */
export const backgroundWorkNames = [
  'admin request',
  'codec thread',
  'dead readers',
  'disk space',
  'image counts',
  'image encoding',
  'journal',
  'model failure',
  'model files',
  'model process',
  'settings reload',
  'shadow models',
  'shutdown',
  'status events',
  'stored cycle',
  'text encoding',
  'warm-up',
] as const
export type BackgroundWorkName = (typeof backgroundWorkNames)[number]

/** Published after each failure. */
export interface BackgroundFailure {
  readonly name: BackgroundWorkName
  readonly error: unknown
}
export const backgroundFailureChannel = channel('understudy:background-failure')

/** Runs `work`, or waits for a promise. Never throws. Without a subscriber, as in a command, a failure is printed. */
export function inBackground(name: BackgroundWorkName, work: PromiseLike<unknown> | (() => unknown)): void {
  const run = async (): Promise<void> => {
    try {
      await (typeof work === 'function' ? work() : work)
    } catch (error) {
      publish({ name, error })
    }
  }
  run().catch(() => undefined)
}

function publish(failure: BackgroundFailure): void {
  if (backgroundFailureChannel.hasSubscribers) backgroundFailureChannel.publish(failure)
  else console.error(`understudy: ${failure.name} failed:`, failure.error)
}
