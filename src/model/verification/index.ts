/**
 * Verification of model packages, before they score anything.
 */
export { readPorts } from './port-checks.js'
export { type CheckLine, type VerificationReport } from './report.js'
export { versionLoader, type LoadVersion } from './verified-model.js'
export { verifyPackage, type VerifyOptions } from './verify.js'
