/**
 * What every other folder may use: work in the background, child processes, limits on concurrent work, flushes of
 * directories. It knows nothing of cycles or models.
 */
export {
  backgroundFailureChannel,
  backgroundWorkNames,
  inBackground,
  type BackgroundFailure,
  type BackgroundWorkName,
} from './background.js'
export { flushDirectory } from './flush-directory.js'
export {
  areDescriptorsPrivate,
  nodeFlags,
  publicEnvironment,
  startProcess,
  startProgram,
  type ChildProcess,
  type ExecFileException,
  type ExecFileOptionsWithBufferEncoding,
} from './processes.js'
export { silentLog, type Log } from './log.js'
export { ignoringErrors, withRelease } from './release.js'
export { uninitializedBuffer } from './memory.js'
export { abortable, Semaphore, type WaitingLimit } from './semaphore.js'
