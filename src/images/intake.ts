/**
 * Validates an uploaded image, computes its identity, and makes the normalised copy for models, as docs/contract.md states
 * under `PUT /v1/images`. Decoding runs on libuv's threads, hashing on the event loop, in pieces; repairing a copy of 5 MiB takes a
 * few milliseconds at most.
 */
import sharp from 'sharp'
import { messageOf, sha256Of } from '../base/index.js'
import { imageEdgePixelsMax, imagePixelsMax, imageSegmentsMax, ServiceError } from '../contract/index.js'
import { hasZeros, measuringJpeg } from './jpeg-measure.js'
import { repairedJpeg, type Repair } from './jpeg-repair.js'
import { readHead, type ImageSize } from './jpeg-segments.js'

/** An accepted image. */
export interface NormalisedImage {
  /** SHA-256 of the uploaded bytes, 32 of them: the image's identity. */
  readonly sha256: Uint8Array
  readonly uploadedBytes: number
  /** Size of the uploaded image in pixels, with its EXIF orientation applied. */
  readonly width: number
  readonly height: number
  /** JPEG in sRGB or grey, at most 1024 px on the long edge, upright, without metadata. */
  readonly normalised: Uint8Array
}

const jpegQuality = 90
/** A valid image of 50 megapixels takes about a second. */
const decodeSecondsMax = 20
const signature = [0xff, 0xd8, 0xff]

/**
 * Warnings of libjpeg that need not concern the pixels: padding, a newer JFIF revision, header bytes that it ignores, a file that
 * ends without a marker. All others mean that pixels are missing or invented, and such an image counts as one that does not
 * decode (docs/contract.md).
 */
const harmlessWarning =
  /extraneous bytes before marker|unknown JFIF revision|Unknown Adobe color transform|Invalid SOS parameters for sequential JPEG|premature end of JPEG image/

// One thread per image: `ImageSemaphore` limits how many are decoded at a time. Uploads do not repeat, so a cache of decoded
// images would only use memory.
sharp.concurrency(1)
sharp.cache(false)
// Of a file with several pictures (MPO, Ultra HDR) the first is the image (docs/contract.md). libvips has a loader for such
// files that ignores all warnings, and would store half an image; without it, the loader for JPEG reads the first one.
sharp.block({ operation: ['VipsForeignLoadUhdr'] })

/**
 * Checks and normalises an upload. `bytes` must not change until the promise settles; `sha256` is that of them, if it
 * is already known. Rejects with a ServiceError: `unsupported_media_type` for a body that is not a JPEG, `bad_request`
 * for a JPEG that does not decode completely or is empty, `too_large` for one of more than 50 megapixels, `unavailable`
 * for one that took too long.
 */
export async function normaliseImage(bytes: Uint8Array, sha256?: Uint8Array): Promise<NormalisedImage> {
  checkSignature(bytes)
  const head = readHead(bytes)
  if (head.hasTooManySegments) throw tooManySegments()
  // libjpeg reads no header of more than 65,500 pixels on an edge.
  if (head.size !== null) checkSize(head.size)
  const { width, height } = await readSize(bytes)
  const normalised = await withServiceErrors(() => normalise(bytes))
  return {
    sha256: sha256 ?? (await sha256Of(bytes)),
    uploadedBytes: bytes.byteLength,
    width,
    height,
    normalised,
  }
}

/** Throws the error that `normaliseImage` rejects with for a body that does not begin like a JPEG. */
export function checkSignature(bytes: Uint8Array): void {
  if (bytes.byteLength === 0) throw new ServiceError({ code: 'empty_image' })
  checkMediaType(bytes)
}

/** Throws `unsupported_media_type` for a body that is not a JPEG. Accepts an empty one. */
export function checkMediaType(bytes: Uint8Array): void {
  if (bytes.byteLength > 0 && signature.some((byte, index) => bytes[index] !== byte))
    throw new ServiceError({ code: 'not_jpeg' })
}

/** Width and height from the header, with the orientation applied. The header may be wrong: nothing is decoded yet. */
async function readSize(bytes: Uint8Array): Promise<ImageSize> {
  const { width, height, autoOrient } = await withServiceErrors(() =>
    decodeShared(() => sharp(bytes, { limitInputPixels: false, failOn: 'none' }).metadata()),
  )
  checkSize({ width, height })
  return { width: autoOrient.width, height: autoOrient.height }
}

function checkSize({ width, height }: ImageSize): void {
  if (width * height > imagePixelsMax)
    throw new ServiceError({ code: 'large_image', width, height, megapixels_max: imagePixelsMax / 1e6 })
}

/**
 * The normalised copy, of an image that decodes without any warning. libjpeg reports its first warning only, and a harmless
 * one must not hide another: its cause is removed from a copy, which is then decoded just as strictly.
 */
async function normalise(bytes: Uint8Array): Promise<Uint8Array> {
  let repaired = bytes
  for (const repair of ['segments', 'scans'] as const) {
    try {
      return await decodeWhole(repaired, repaired !== bytes)
    } catch (error) {
      if (!isHarmless(error)) throw error
    }
    repaired = repairOnce(repaired, repair)
  }
  return decodeWhole(repaired, true)
}

function repairOnce(bytes: Uint8Array, repair: Repair): Uint8Array {
  const repaired = repairedJpeg(bytes, repair)
  if (repaired === null) throw tooManySegments()
  return repaired
}

function tooManySegments(): ServiceError {
  return new ServiceError({ code: 'too_many_segments', segments_max: imageSegmentsMax })
}

/** As `decode`. Rejects, too, if zeros have replaced coded data, or if the last ones of a repaired copy are missing. */
async function decodeWhole(bytes: Uint8Array, isRepaired: boolean): Promise<Uint8Array> {
  const normalised = await decode(bytes)
  const measuring = isRepaired || hasZeros(bytes) ? measuringJpeg(bytes) : null
  if (measuring !== null) await decode(measuring)
  return normalised
}

/** Rejects with the messages about this image. */
async function decode(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await decodeShared(() => encode(bytes))
  } catch (error) {
    if (isTimeout(error)) throw error
    return await decodeExclusively(() => encode(bytes))
  }
}

// libvips has one list of messages for all images, so an image whose message matters is decoded while no other image is.
const decoding = new Set<Promise<unknown>>()
let lastExclusive: Promise<unknown> = Promise.resolve()

async function decodeShared<T>(decode: () => Promise<T>): Promise<T> {
  for (let seen; seen !== lastExclusive;) await (seen = lastExclusive)
  const work = decode()
  decoding.add(work)
  try {
    return await work
  } finally {
    decoding.delete(work)
  }
}

function decodeExclusively<T>(decode: () => Promise<T>): Promise<T> {
  const work = lastExclusive.then(() => Promise.allSettled(decoding)).then(decode)
  lastExclusive = work.catch(() => undefined)
  return work
}

/** Decodes the whole image and encodes the copy. Any warning is a failure. */
async function encode(bytes: Uint8Array): Promise<Uint8Array> {
  return sharp(bytes, { failOn: 'warning', limitInputPixels: imagePixelsMax })
    .autoOrient()
    .resize({
      width: imageEdgePixelsMax,
      height: imageEdgePixelsMax,
      fit: 'inside',
      withoutEnlargement: true,
    })
    .toColourspace('srgb')
    .jpeg({ quality: jpegQuality })
    .timeout({ seconds: decodeSecondsMax })
    .toBuffer()
}

function isHarmless(error: unknown): boolean {
  return error instanceof Error && error.message.split('\n').every((line) => harmlessWarning.test(line))
}

/** Runs `decode`, and converts an error of sharp into a `ServiceError`. */
async function withServiceErrors<T>(decode: () => Promise<T>): Promise<T> {
  return decode().catch((error: unknown) => {
    throw serviceErrorOf(error)
  })
}

/** The `ServiceError` for an error of sharp. */
export function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  // A timeout depends on the load of the machine, not on the image.
  if (isTimeout(error)) return new ServiceError({ code: 'image_timeout' }, { cause: error })
  const lines = messageOf(error).split('\n')
  const reason = lines.find((line) => !harmlessWarning.test(line)) ?? lines[0]!
  const problem = reason.replace(/^.*VipsJpeg: /, '')
  return new ServiceError({ code: 'undecodable_image', problem }, { cause: error })
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('timeout: ')
}
