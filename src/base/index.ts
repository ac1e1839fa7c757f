/**
 * What every other folder may use: the log, units, sizes as texts, clipped texts, work in the background, child processes,
 * limits on concurrent work, flushes of directories. It knows nothing of cycles or models.
 */
export {
  backgroundFailureChannel,
  backgroundWorkNames,
  inBackground,
  type BackgroundFailure,
  type BackgroundWorkName,
} from './background.js'
export { builtFile } from './built-file.js'
export { clipText } from './clip-text.js'
export { codeOf, firstLineOf, messageOf, toError } from './errors.js'
export { LockedError, openLocked } from './flock.js'
export { endWithParent } from './end-with-parent.js'
export { isPresent, writeFileDurably } from './durable-file.js'
export { flushDirectory } from './flush-directory.js'
export { PathTable, type PathMatch } from './path-table.js'
export {
  areDescriptorsPrivate,
  endProcess,
  nodeFlags,
  publicEnvironment,
  startProcess,
  startProgram,
  type ChildProcess,
  type ExecFileException,
  type ExecFileOptionsWithBufferEncoding,
} from './processes.js'
export { isObject, parseJson } from './json.js'
export { silentLog, type Log } from './log.js'
export { mulberry32 } from './mulberry32.js'
export { nextTurn } from './next-turn.js'
export {
  AddressProblem,
  readPostgresAddress,
  type PostgresAddress,
  type PostgresServer,
} from './postgres-address.js'
export { RecentBytes } from './recent-bytes.js'
export { ignoringErrors, withRelease } from './release.js'
export { fileSizeProblem, resourceLimit } from './resource-limits.js'
export { memoizeLast } from './memoize-last.js'
export { uninitializedBuffer, viewOf } from './memory.js'
export { sha256Of } from './sha256.js'
export { abortable, Semaphore, type WaitingLimit } from './semaphore.js'
export { sizeText } from './size-text.js'
export { dayMs, gibibyte, hourMs, kibibyte, mebibyte, minuteMs, secondMs } from './units.js'
