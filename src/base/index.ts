/**
 * What every other folder may use: work in the background. It knows nothing of cycles, models or files.
 */
export {
  backgroundFailureChannel,
  backgroundWorkNames,
  inBackground,
  type BackgroundFailure,
  type BackgroundWorkName,
} from './background.js'
