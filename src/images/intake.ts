/**
 * Validates an uploaded image, computes its identity, and makes the normalised copy for models. Interface 4.3;
 * decisions.md 26 to 28, 30 and 37. Decoding and hashing run on libuv's threads.
 */
import sharp from 'sharp'
import { imageEdgePixelsMax, imagePixelsMax, ServiceError } from '../contract/index.js'

/** An accepted image. */
export interface NormalisedImage {
  /** SHA-256 of the uploaded bytes, 32 of them: the image's identity (decisions.md 26). */
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
 * Warnings of libjpeg that do not concern the pixels: padding between segments, a newer JFIF revision. All others mean
 * that pixels are missing or invented, and such an image counts as one that does not decode (decisions.md 37).
 */
const harmlessWarning = /extraneous bytes before marker|unknown JFIF revision|Unknown Adobe color transform/

// One thread per image: `ImageSemaphore` limits how many are decoded at a time. Uploads do not repeat, so a cache of decoded
// images would only use memory.
sharp.concurrency(1)
sharp.cache(false)

/**
 * Checks and normalises an upload. `bytes` must not change until the promise settles; `sha256` is `hashUpload` of them
 * if it is already known. Rejects with a ServiceError: `unsupported_media_type` for a body that is not a JPEG, `bad_request`
 * for a JPEG that does not decode completely or is empty, `too_large` for one of more than 50 megapixels, `unavailable`
 * for one that took too long.
 */
export async function normaliseImage(bytes: Uint8Array, sha256?: Uint8Array): Promise<NormalisedImage> {
  checkSignature(bytes)
  const { width, height } = await readSize(bytes)
  const normalised = await normalise(bytes)
  return {
    sha256: sha256 ?? (await hashUpload(bytes)),
    uploadedBytes: bytes.byteLength,
    width,
    height,
    normalised,
  }
}

/** SHA-256 of an upload, 32 bytes. WebCrypto hashes on a thread; 5 MiB would block the event loop for 15 ms. */
export async function hashUpload(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** Throws the error that `normaliseImage` rejects with for a body that does not begin like a JPEG. */
export function checkSignature(bytes: Uint8Array): void {
  if (bytes.byteLength === 0) throw new ServiceError('bad_request', 'the image is empty')
  checkMediaType(bytes)
}

/** Throws `unsupported_media_type` for a body that is not a JPEG. Accepts an empty one. */
export function checkMediaType(bytes: Uint8Array): void {
  if (bytes.byteLength > 0 && signature.some((byte, index) => bytes[index] !== byte))
    throw new ServiceError('unsupported_media_type', 'the body is not a JPEG')
}

/** Width and height from the header, with the orientation applied. The header may be wrong: nothing is decoded yet. */
async function readSize(bytes: Uint8Array): Promise<{ width: number; height: number }> {
  const { width, height, autoOrient } = await withServiceErrors(() =>
    decodeShared(() => sharp(bytes, { limitInputPixels: false, failOn: 'none' }).metadata()),
  )
  if (width * height > imagePixelsMax)
    throw new ServiceError(
      'too_large',
      `the image is ${width} x ${height}, more than ${imagePixelsMax / 1e6} megapixels`,
    )
  return { width: autoOrient.width, height: autoOrient.height }
}

async function normalise(bytes: Uint8Array): Promise<Uint8Array> {
  return withServiceErrors(async () => {
    try {
      return await decodeShared(() => encode(bytes, 'warning'))
    } catch (error) {
      if (serviceErrorOf(error).kind === 'unavailable') throw error
      return await decodeExclusively(() => normaliseDespiteWarnings(bytes))
    }
  })
}

/** Must run inside `decodeExclusively`, because it reads the messages of libvips. */
async function normaliseDespiteWarnings(bytes: Uint8Array): Promise<Uint8Array> {
  // libjpeg reports its first warning only. A harmless one must not hide another: its cause is removed.
  let cleaned = bytes
  for (const next of [withoutHarmlessCauses, null]) {
    try {
      return await encode(cleaned, 'warning')
    } catch (error) {
      if (!isHarmless(error)) throw error
      cleaned = next?.(bytes) ?? cleaned
    }
  }
  // Padding after the first scan, which only a decoder finds. Warnings about that scan would have come before this one.
  return encode(cleaned, 'error')
}

// libvips has one list of messages for all images, so an image whose message matters is decoded while no other image is.
const decoding = new Set<Promise<unknown>>()
let lastExclusive: Promise<unknown> = Promise.resolve()

async function decodeShared<T>(decode: () => Promise<T>): Promise<T> {
  for (let seen; seen !== lastExclusive;) await (seen = lastExclusive)
  const work = decode()
  decoding.add(work)
  return work.finally(() => decoding.delete(work))
}

function decodeExclusively<T>(decode: () => Promise<T>): Promise<T> {
  const work = lastExclusive.then(() => Promise.allSettled(decoding)).then(decode)
  lastExclusive = work.catch(() => undefined)
  return work
}

/** Decodes the whole image and encodes the copy. `failOn` is the lowest severity that counts as a failure. */
async function encode(bytes: Uint8Array, failOn: 'warning' | 'error'): Promise<Uint8Array> {
  return sharp(bytes, { failOn, limitInputPixels: imagePixelsMax })
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

/**
 * The JPEG without the causes of harmless warnings up to its first scan: bytes between segments are removed, the JFIF
 * revision and an unknown Adobe colour transform are replaced by the values that libjpeg assumes. ISO 10918-1, annex B.
 */
function withoutHarmlessCauses(bytes: Uint8Array): Uint8Array {
  const segments: Uint8Array[] = [bytes.subarray(0, 2)]
  let adobe: Uint8Array | null = null
  let componentCount = 3
  let end = 2
  for (;;) {
    const at = bytes.findIndex((byte, i) => i >= end && byte === 0xff && (bytes[i + 1] ?? 0xff) % 0xff !== 0)
    const marker = bytes[at + 1] as number
    if (at < 0 || marker === markers.startOfScan) {
      if (adobe !== null && adobe[15] !== 0) adobe[15] = componentCount === 4 ? 2 : 1
      return Buffer.concat([...segments, at < 0 ? bytes.subarray(end) : bytes.subarray(at)])
    }
    end = at + 2 + 256 * (bytes[at + 2] ?? 0) + (bytes[at + 3] ?? 0)
    const segment = bytes.slice(at, end)
    if (marker === markers.app0 && nameOf(segment) === 'JFIF\0') segment[9] = 1
    if (marker === markers.app14 && nameOf(segment) === 'Adobe') adobe = segment
    if (markers.startsOfFrame.includes(marker)) componentCount = segment[9] ?? 3
    segments.push(segment)
  }
}

const markers = {
  app0: 0xe0,
  app14: 0xee,
  startOfScan: 0xda,
  startsOfFrame: [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf],
}

function nameOf(segment: Uint8Array): string {
  return Buffer.from(segment.subarray(4, 9)).toString('latin1')
}

/** Runs `decode`, and converts an error of sharp into a `ServiceError`. */
async function withServiceErrors<T>(decode: () => Promise<T>): Promise<T> {
  return decode().catch((error: unknown) => {
    throw serviceErrorOf(error)
  })
}

/** The `ServiceError` for an error of sharp. */
export function serviceErrorOf(error: unknown): ServiceError {
  const reason = error instanceof Error ? (error.message.split('\n', 1)[0] as string) : String(error)
  // A timeout depends on the load of the machine, not on the image.
  if (reason.startsWith('timeout: '))
    return new ServiceError('unavailable', 'image decoding timed out', { cause: error })
  return new ServiceError(
    'bad_request',
    `the image cannot be decoded: ${reason.replace(/^.*VipsJpeg: /, '')}`,
    { cause: error },
  )
}
