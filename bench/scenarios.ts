/**
 * The table of scenarios. The canonical one is `full`: a full pool with a snapshot of every post.
 */
import { jsonBodyBytesMax } from '../src/contract/limits.js'
import type { WorldShape } from '../test/harness/world.js'

export interface CycleScenario {
  readonly shape: WorldShape
  /** Default number of counted cycles. */
  readonly cycleCount: number
}

export const cycleScenarios = {
  typical: {
    shape: { pending: 600, turnover: 8, snapshotShare: 1, bodyChars: 2600 },
    cycleCount: 200,
  },
  max: {
    shape: { pending: 5000, turnover: 40, snapshotShare: 0, bodyChars: 600 },
    cycleCount: 100,
  },
  full: {
    shape: { pending: 5000, turnover: 500, snapshotShare: 1, bodyChars: 2600 },
    cycleCount: 60,
  },
  'limit-16MiB': {
    shape: {
      pending: 5000,
      turnover: 500,
      snapshotShare: 1,
      bodyChars: 2600,
      requestBytes: jsonBodyBytesMax - 16,
    },
    cycleCount: 25,
  },
} as const satisfies Record<string, CycleScenario>

export type CycleScenarioName = keyof typeof cycleScenarios

export const scenarioNames = [
  ...(Object.keys(cycleScenarios) as CycleScenarioName[]),
  'throughput',
  'mixed',
  'start-up',
  'swap',
  'with-report',
  'with-admin',
  'encoders',
] as const
export type ScenarioName = (typeof scenarioNames)[number]

export function isCycleScenario(name: string): name is CycleScenarioName {
  return Object.hasOwn(cycleScenarios, name)
}

/** The size of a run. The tests run each scenario in a small size. */
export interface RunSize {
  /** Number of counted cycles, in place of each scenario's default. */
  readonly cycleCount?: number
  /** Duration of the scenarios that do not count cycles. */
  readonly seconds: number
  /** Part of the pending posts of each scenario, 0 to 1. Below 1, a scenario does not have its nominal size. */
  readonly scale: number
}

export function scaledShape(shape: WorldShape, scale: number): WorldShape {
  if (scale === 1) return shape
  const { requestBytes, ...rest } = shape
  return {
    ...rest,
    pending: Math.ceil(shape.pending * scale),
    turnover: Math.ceil(shape.turnover * scale),
    ...(requestBytes === undefined ? {} : { requestBytes: Math.ceil(requestBytes * scale) }),
  }
}
