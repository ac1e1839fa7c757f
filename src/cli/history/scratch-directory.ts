/**
 * A scratch directory that ends with its command, on a signal too. What a killed command leaves behind is in the directory for
 * temporary files, which the system empties.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `prefix`: of the name, such as `understudy-sql-`. */
export async function withScratchDirectory<Result>(
  prefix: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), prefix))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  const onSignal = (signal: NodeJS.Signals): void => {
    remove()
    // Without this handler the signal ends the process.
    process.removeListener(signal, onSignal).kill(process.pid, signal)
  }
  for (const signal of endingSignals) process.on(signal, onSignal)
  try {
    return await work(directory)
  } finally {
    for (const signal of endingSignals) process.removeListener(signal, onSignal)
    remove()
  }
}
