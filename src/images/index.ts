/**
 * Images: from uploaded bytes to an identity and a normalised copy, with a concurrency limit.
 */
export { ImageGate, type ImageGateOptions } from './gate.js'
export { checkMediaType, checkSignature, hashUpload, normaliseImage, type NormalisedImage } from './intake.js'
