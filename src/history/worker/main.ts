/**
 * The process that answers one request about the stored cycles: `main.js KIND TASK`, with the task as JSON. Within the server
 * it would delay cycles, and a damaged record or too little memory would end the server. Prints the result as JSON, or the
 * failure as one line of JSON on standard error, with exit code 1.
 */
import type { Refusal } from '../../contract/index.js'
import { HistoryError } from '../history-error.js'
import { resultOf } from './requests.js'
import type { HistoryTask } from './start.js'

function reasonOf(error: unknown): Refusal {
  if (error instanceof HistoryError) return error.reason
  return { code: 'history_failed', problem: error instanceof Error ? error.message : String(error) }
}

function write(stream: NodeJS.WriteStream, value: object): Promise<void> {
  return new Promise((resolve) => stream.write(`${JSON.stringify(value)}\n`, () => resolve()))
}

try {
  // The kind is an argument of its own for those who list the processes.
  const { settings, request } = JSON.parse(process.argv[3] ?? '') as HistoryTask
  await write(process.stdout, await resultOf(settings, request))
} catch (error) {
  process.exitCode = 1
  await write(process.stderr, reasonOf(error))
}
// Processes of models that were left open must not keep this one alive.
process.exit()
