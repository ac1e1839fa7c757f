/**
 * Verification of model packages, before they score anything.
 */
export { readPorts } from './port-checks.js'
export {
  type CheckLine,
  type CheckState,
  type LatencyFigure,
  type VerificationFigures,
  type VerificationReport,
} from './report.js'
export { assertChecksPass, checkRuns, type TrialModel } from './run-checks.js'
export { loadCandidateModel, loadVerifiedModel } from './verified-model.js'
export { verifyPackage, type VerifyOptions } from './verify.js'
