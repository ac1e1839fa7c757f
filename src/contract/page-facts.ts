/**
 * Facts that the service and the operators' page share, one home for each. The page's bundle contains this file: it imports
 * nothing.
 */

/** The stages of a cycle, in order. `wait` is the serial queue. `encode` includes the rest of the compression of the request. */
export const stageNames = [
  'receive',
  'decode',
  'wait',
  'plan',
  'features',
  'infer',
  'encode',
  'commit',
  'send',
] as const
export type StageName = (typeof stageNames)[number]

/** The operation of the calls that the flight recorder lists as cycles. */
export const cyclesOperation = 'POST /v1/cycles'

/**
 * What the flight recorder keeps: calls of cycles, and calls of the other operations or without a valid key, thousands of which
 * would displace the cycles.
 */
export const recordedCallsMax = { calls: 1000, other: 200 } as const

/** Digits of an image's SHA-256 in the page's addresses: enough to tell apart what was ever stored at one position. */
export const shownHashChars = 16
