/**
 * What every other folder may use: work in the background, child processes, limits on concurrent work. It knows nothing
 * of cycles, models or files.
 */
export {
  backgroundFailureChannel,
  backgroundWorkNames,
  inBackground,
  type BackgroundFailure,
  type BackgroundWorkName,
} from './background.js'
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
export { abortable, Semaphore, type WaitingLimit } from './semaphore.js'
