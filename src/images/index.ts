/**
 * Images: from uploaded bytes to an identity and a normalised copy, with a concurrency limit.
 */
export { ImageSemaphore } from './image-semaphore.js'
export { checkMediaType, checkSignature, normaliseImage, type NormalisedImage } from './intake.js'
