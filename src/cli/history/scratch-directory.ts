/**
 * A scratch directory that does not outlive its command. It is removed when the work ends and on a signal. A command that
 * was killed leaves its directory behind, and the next one removes it: the lock in it is no longer held.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withRelease } from '../../base/index.js'
import { directoryLockName, lockDirectory, StoreError, type DirectoryLock } from '../../store/index.js'

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const attemptsMax = 3

/** `prefix`: of the name, such as `understudy-sql-`. `parent`: default the directory for temporary files. */
export async function withScratchDirectory<Result>(
  prefix: string,
  work: (directory: string) => Promise<Result>,
  parent = tmpdir(),
): Promise<Result> {
  await removeLeftovers(parent, prefix)
  const { directory, lock } = await createLocked(join(parent, prefix))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  const onSignal = (signal: NodeJS.Signals): void => {
    remove()
    // Without this handler the signal ends the process.
    process.removeListener(signal, onSignal).kill(process.pid, signal)
  }
  for (const signal of endingSignals) process.on(signal, onSignal)
  return withRelease(
    () =>
      withRelease(
        () => work(directory),
        () => {
          for (const signal of endingSignals) process.removeListener(signal, onSignal)
          remove()
        },
      ),
    () => lock.release(),
  )
}

/** Another command may take a directory for a leftover between its creation and its lock; the next attempt succeeds. */
async function createLocked(path: string): Promise<{ directory: string; lock: DirectoryLock }> {
  for (let attempt = 1; ; attempt++) {
    const directory = mkdtempSync(path)
    try {
      return { directory, lock: await lockDirectory(directory) }
    } catch (error) {
      rmSync(directory, { recursive: true, force: true })
      if (attempt === attemptsMax) throw error
    }
  }
}

/** Removes the directories of killed commands. One without a lock file may just have been made: it is kept. */
async function removeLeftovers(parent: string, prefix: string): Promise<void> {
  const directories = readdirSync(parent)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(parent, name))
    .filter((directory) => existsSync(join(directory, directoryLockName)))
  for (const directory of directories) {
    const lock = await unheldLock(directory)
    if (lock === null) continue
    rmSync(directory, { recursive: true, force: true })
    await lock.release()
  }
}

/** null: another command uses the directory, or it belongs to another user. */
async function unheldLock(directory: string): Promise<DirectoryLock | null> {
  try {
    return await lockDirectory(directory)
  } catch (error) {
    if (error instanceof StoreError) return null
    throw error
  }
}
