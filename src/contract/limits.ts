/**
 * Limits of the contract that do not belong to one field.
 */
import { kibibyte, mebibyte } from '../base/units.js'

/** A JSON body after decompression. */
export const jsonBodyBytesMax = 16 * mebibyte
/** A body of the maximum size that does not compress is larger as gzip. */
export const gzipBodyBytesMax = jsonBodyBytesMax + mebibyte
/** Head of a request: its path may hold a percent-encoded gallery id of 12 KiB. A longer one is 431. */
export const headBytesMax = 128 * kibibyte
export const imageBytesMax = 5 * mebibyte
/** Decoded pixels of an image. */
export const imagePixelsMax = 50_000_000
/** Segments and fill bytes of an image before its first scan. A photograph has a few dozen, at most some hundreds. */
export const imageSegmentsMax = 10_000
/** Long edge of the normalised copy. */
export const imageEdgePixelsMax = 1024
/** Nesting of a JSON body. The contract's own depth is 5; only unknown members are deeper. */
export const jsonDepthMax = 1024
/**
 * Arrays and objects in a JSON body. A full cycle has about 160,000. Parsing 16 MB of empty ones would
 * take half a gigabyte.
 */
export const jsonContainerCountMax = 1_000_000
/** Lines of `warnings` for unknown fields. */
export const unknownFieldWarningCountMax = 20
/**
 * Pending posts, unless a setting says otherwise: more than one body can bring, so that the contract's "no
 * count cap" holds. With so many, a cycle of 2,200 readings takes 0.08 s of the event loop, and 0.15 s with the reference codec.
 */
export const pendingPostsMax = 200_000
