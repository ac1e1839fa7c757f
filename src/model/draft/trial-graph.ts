/**
 * A graph of the draft in its own process: its ports, and trial runs.
 */
import { gibibyte, minuteMs, type Log } from '../../base/index.js'
import { ModelError } from '../model.js'
import { readBytes } from '../package/read-file.js'
import type { Ports } from '../sessions/ports.js'
import { SessionProcess } from '../sessions/session-process.js'
import { sha256Text } from './hash.js'
import type { Inventory } from './inventory.js'
import { trialOwnerFormat, type TrialInput, type TrialOutput } from '../sessions/trial-runs.js'

const bytesMax = 4 * gibibyte
const runMsMax = minuteMs

export interface TrialGraph {
  /** Relative to the package. */
  readonly file: string
  readonly sha256: string
  readonly ports: Ports
  /** The float outputs. Rejects with a `ModelError` that states the graph's error. */
  run(inputs: readonly TrialInput[]): Promise<readonly TrialOutput[]>
  close(): Promise<void>
}

/** Opens the graph on the CPU. Rejects with a `ModelError` if it cannot be opened. */
export async function openTrialGraph(inventory: Inventory, file: string, log: Log): Promise<TrialGraph> {
  const path = inventory.path(file)
  const sha256 = sha256Text(await readBytes(path))
  const plan = { role: 'ports', file: path, sha256, providers: ['cpu'], intraOpThreads: 1 } as const
  const process = await SessionProcess.start({ name: 'the graph', plan, bytesMax, log })
  const { report } = await process.starting(() => process.open())
  return {
    file,
    sha256,
    ports: report as Ports,
    async run(inputs) {
      const { outputs, failure } = await process.run(trialOwnerFormat, inputs, runMsMax)
      if (failure !== null) throw new ModelError(failure)
      return outputs
    },
    close: () => process.stop(),
  }
}
