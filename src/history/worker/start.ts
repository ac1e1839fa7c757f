/** Starts the process of `main.ts`, and reads what it prints. */
import { fileURLToPath } from 'node:url'
import {
  endWithParent,
  nodeFlags,
  publicEnvironment,
  startProgram,
  type ChildProcess,
  type ExecFileException,
} from '../../base/index.js'
import type { Refusal } from '../../contract/index.js'
import { historySettingNames, type HistorySettings } from '../recorded/session.js'
import type { HistoryRequest } from './requests.js'

/** What the process receives. */
export interface HistoryTask {
  readonly settings: HistorySettings
  readonly request: HistoryRequest
}

export interface WorkerLimits {
  readonly runMsMax: number
  readonly outputBytesMax: number
}

export type WorkerEnd =
  | { readonly state: 'done'; readonly json: Uint8Array }
  | { readonly state: 'failed'; readonly reason: Refusal }
  /** It did not finish. `how`: such as `was ended by SIGKILL`. */
  | { readonly state: 'lost'; readonly how: string }

export type StartWorker = (
  request: HistoryRequest,
  limits: WorkerLimits,
  ended: (end: WorkerEnd) => void,
) => ChildProcess

const entry = fileURLToPath(new URL('./main.js', import.meta.url))
/** The report of 10,000 cycles holds 840 MiB in all. */
const heapMiB = 1024

/** `settings`: those of the server; only those that the worker needs leave it. */
export function workerStarter(settings: HistorySettings): StartWorker {
  const needed = Object.fromEntries(historySettingNames.map((name) => [name, settings[name]]))
  return (request, limits, ended) => {
    const task = JSON.stringify({ settings: needed, request })
    const flags = [...nodeFlags, ...endWithParent, `--max-old-space-size=${heapMiB}`]
    return startWorker(process.execPath, [...flags, entry, request.kind, task], limits, ended)
  }
}

export function startWorker(
  file: string,
  args: readonly string[],
  { runMsMax, outputBytesMax }: WorkerLimits,
  ended: (end: WorkerEnd) => void,
): ChildProcess {
  const options = {
    encoding: 'buffer',
    // No secrets, and no NODE_OPTIONS, which may load an OpenTelemetry SDK into the service.
    env: publicEnvironment(process.env),
    timeout: runMsMax,
    maxBuffer: outputBytesMax,
    killSignal: 'SIGKILL',
  } as const
  return startProgram(file, args, options, (error, stdout, stderr) => ended(endOf(error, stdout, stderr)))
}

function endOf(error: ExecFileException | null, stdout: Uint8Array, stderr: Buffer): WorkerEnd {
  if (error === null) return { state: 'done', json: stdout }
  const reason = reasonIn(stderr.toString())
  if (error.code === 1 && reason !== null) return { state: 'failed', reason }
  if (typeof error.code === 'number') return { state: 'lost', how: `exited with code ${error.code}` }
  return { state: 'lost', how: error.signal ? `was ended by ${error.signal}` : `failed: ${error.message}` }
}

/** The last line; Node and libraries may print warnings before it. */
function reasonIn(text: string): Refusal | null {
  const [line = ''] = text.trimEnd().split('\n').slice(-1)
  try {
    return JSON.parse(line) as Refusal
  } catch {
    return null
  }
}
