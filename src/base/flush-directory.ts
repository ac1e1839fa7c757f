/**
 * Flushes a directory, so that a new name in it survives a power cut. Some file systems (FUSE, network and container
 * mounts) cannot: then the files themselves are still flushed, and a warning says what is lost.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'

/**
 * Errors of directories that cannot be opened for reading or flushed, as opposed to a disk that fails. SQLite and PostgreSQL
 * ignore them too.
 */
const unableCodes: ReadonlySet<string | undefined> = new Set([
  ...['EINVAL', 'EBADF', 'EPERM', 'EACCES', 'EROFS', 'EISDIR'],
  ...['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'],
])

/** Directories that a warning has named: one for each is enough. */
const namedDirectories = new Set<string>()

/** `warn` receives one message for each directory that cannot be flushed. Other errors are thrown. */
export function flushDirectory(
  path: string,
  warn = (message: string): void => process.emitWarning(message),
): void {
  try {
    const directory = openSync(path, 'r')
    try {
      fsyncSync(directory)
    } finally {
      closeSync(directory)
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!unableCodes.has(code)) throw error
    if (namedDirectories.has(path)) return
    namedDirectories.add(path)
    warn(
      `the directory ${path} cannot be flushed to the disk (${message}): after a power cut, files that were just created ` +
        'or renamed in it may be missing',
    )
  }
}
