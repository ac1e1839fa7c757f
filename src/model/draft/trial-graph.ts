/**
 * A graph of the draft in its own process: its ports, its files, and trial runs.
 */
import { hash } from 'node:crypto'
import { posix } from 'node:path'
import { gibibyte, minuteMs, type Log } from '../../base/index.js'
import { GraphError, ModelError } from '../model.js'
import type { GraphManifest } from '../package/manifest.js'
import { readBytes } from '../package/read-file.js'
import { findExternalData } from '../sessions/external-data.js'
import type { Port, Ports } from '../sessions/ports.js'
import { SessionProcess } from '../sessions/session-process.js'
import {
  trialOwnerFormat,
  type TrialInput,
  type TrialOutput,
  type TrialType,
} from '../sessions/trial-runs.js'
import { read, type Findings } from './findings.js'
import type { Inventory } from './inventory.js'

const bytesMax = 4 * gibibyte
const runMsMax = minuteMs

export interface TrialGraph {
  /** Its members of the manifest: the file and its hash, files of weights, and the size of a batch if that is fixed. */
  readonly entry: Pick<GraphManifest, 'file' | 'sha256' | 'external_data' | 'batch'>
  readonly ports: Ports
  /** The float outputs. Rejects with a `GraphError` that states the graph's error, or a `ModelError` if its process has ended. */
  run(inputs: readonly TrialInput[]): Promise<readonly TrialOutput[]>
  close(): Promise<void>
}

/** Opens the graph on the CPU. Rejects with a `ModelError` if it cannot be opened. */
export async function openTrialGraph(inventory: Inventory, file: string, log: Log): Promise<TrialGraph> {
  const path = inventory.path(file)
  const bytes = await readBytes(path)
  const sha256 = hash('sha256', bytes)
  const externalData = await findExternalData(path, bytes)
  const data = externalData.map(({ location, sha256: expected }) => ({
    file: posix.join(posix.dirname(file), location),
    sha256: expected,
  }))
  const unnamed = data.find((one) => !inventory.files.includes(one.file))
  if (unnamed !== undefined)
    throw new ModelError(
      `it keeps weights in ${unnamed.file}, which a manifest cannot name: save it with its weights in one file`,
    )
  const plan = {
    role: 'ports',
    file: path,
    sha256,
    externalData,
    providers: ['cpu'],
    intraOpThreads: 1,
  } as const
  const process = await SessionProcess.start({ name: 'the graph', plan, bytesMax, log })
  const opened = await process.starting(() => process.open())
  const ports = opened.ports[0]!
  const batch = fixedBatch(ports)
  return {
    entry: {
      file,
      sha256,
      ...(data.length === 0 ? {} : { external_data: data }),
      ...(batch === null ? {} : { batch }),
    },
    ports,
    async run(inputs) {
      const { outputs, failure } = await process.run(trialOwnerFormat, inputs, runMsMax)
      if (failure !== null) throw new GraphError(failure)
      return outputs
    },
    close: () => process.stop(),
  }
}

/** The first size of every input, if the graph allows no other. */
function fixedBatch({ inputs }: Ports): number | null {
  const sizes = new Set(inputs.map(({ shape }) => shape?.[0]))
  const [size] = sizes
  return sizes.size === 1 && typeof size === 'number' ? size : null
}

/** The type of the values that a port takes. */
export function trialType({ dtype }: Port): TrialType {
  return dtype as TrialType
}

/** Why a graph that declares any number of rows must run each alone. */
export const batchOfOneReasons = {
  differs: 'a row has other values alone than in a batch',
  hidden: 'a hidden batch of one: it runs one row, and no more',
} as const

/** Records a fixed number of rows per run, and returns the member for it. */
export function takeBatch(
  member: string,
  { entry }: TrialGraph,
  batchOfOne: string | null,
  findings: Findings,
): Pick<GraphManifest, 'batch'> {
  const batchMember = `${member}.batch`
  if (batchOfOne !== null) return { batch: findings.take(batchMember, read(1, batchOfOne)) }
  if (entry.batch === undefined) return {}
  return {
    batch: findings.take(
      batchMember,
      read(entry.batch, 'the inputs of the graph; each run has so many rows'),
    ),
  }
}
