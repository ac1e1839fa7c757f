/**
 * An uploaded image: is it a picture at all, what identifies it, and the copy that a model may look at.
 * Interface 4.3; decisions.md 26 to 28, 30 and 37. All heavy work is done on libuv's threads.
 */
import sharp from 'sharp'
import { imageEdgePixelsMax, imagePixelsMax, ServiceError } from '../contract/index.js'

/** An accepted image. */
export interface NormalisedImage {
  /** SHA-256 of the uploaded bytes, 32 of them: the image's identity (decisions.md 26). */
  readonly sha256: Uint8Array
  readonly uploadedBytes: number
  /** Size of the uploaded picture in pixels, after its EXIF orientation is applied. */
  readonly width: number
  readonly height: number
  /** JPEG in sRGB or grey, at most 1024 px on the long edge, upright, without metadata. */
  readonly normalised: Uint8Array
}

const jpegQuality = 90
/** A picture that takes longer is made to: a sound one of 50 megapixels takes about a second. */
const decodeSecondsMax = 20
const signature = [0xff, 0xd8, 0xff]

/**
 * Warnings of libjpeg that say nothing about the picture: padding between segments, a newer JFIF revision. All
 * others mean that pixels are missing or made up: "cut in the middle of its picture does not decode" (decisions.md 37).
 */
const harmlessWarning = /extraneous bytes before marker|unknown JFIF revision|Unknown Adobe color transform/

// One thread for each picture: the gate decides how many are worked on at once. Uploads do not repeat, so a cache of
// decoded pictures would only hold memory.
sharp.concurrency(1)
sharp.cache(false)

/**
 * Checks and normalises an upload. `bytes` must not change until the promise settles; `sha256` is `hashUpload` of them
 * where it is known already. Rejects with a ServiceError: `unsupported_media_type` for what is no JPEG, `bad_request`
 * for a JPEG that does not decode as a whole or is empty, `too_large` for one of more than 50 megapixels, `unavailable`
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

/** SHA-256 of an upload, 32 bytes. WebCrypto hashes on a thread: 5 MiB would hold up the event loop for 15 ms. */
export async function hashUpload(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** Throws, as `normaliseImage` rejects, for what does not even begin like a JPEG. */
export function checkSignature(bytes: Uint8Array): void {
  if (bytes.byteLength === 0) throw new ServiceError('bad_request', 'the image is empty')
  checkMediaType(bytes)
}

/** Throws `unsupported_media_type` for a body that is something else than a JPEG. An empty one is nothing else. */
export function checkMediaType(bytes: Uint8Array): void {
  if (bytes.byteLength > 0 && signature.some((byte, index) => bytes[index] !== byte))
    throw new ServiceError('unsupported_media_type', 'the body is not a JPEG')
}

/** Width and height as the header declares them, turned upright. Nothing is decoded yet: a header can lie. */
async function readSize(bytes: Uint8Array): Promise<{ width: number; height: number }> {
  const { width, height, autoOrient } = await decodable(() =>
    sharp(bytes, { limitInputPixels: false, failOn: 'none' }).metadata(),
  )
  if (width * height > imagePixelsMax)
    throw new ServiceError(
      'too_large',
      `the image is ${width} x ${height}, more than ${imagePixelsMax / 1e6} megapixels`,
    )
  return { width: autoOrient.width, height: autoOrient.height }
}

async function normalise(bytes: Uint8Array): Promise<Uint8Array> {
  return decodable(async () => {
    try {
      return await encode(bytes, 'warning')
    } catch (error) {
      if (!isHarmless(error)) throw error
      return encode(bytes, 'error')
    }
  })
}

/** Decodes the whole picture; `failOn` says from what kind of trouble on that is a failure. */
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

/** Runs `decode`; whatever sharp has against the bytes is the client's to know. */
async function decodable<T>(decode: () => Promise<T>): Promise<T> {
  return decode().catch((error: unknown) => {
    throw refusalOf(error)
  })
}

/** What the client is told of a failure of sharp. */
export function refusalOf(error: unknown): ServiceError {
  const reason = error instanceof Error ? (error.message.split('\n', 1)[0] as string) : String(error)
  // libvips names the place that failed. Out of time says nothing of the picture: on a machine with less to do it may pass.
  if (reason.startsWith('timeout: '))
    return new ServiceError('unavailable', 'the image took too long to decode', { cause: error })
  return new ServiceError(
    'bad_request',
    `the image does not decode: ${reason.replace(/^.*VipsJpeg: /, '')}`,
    { cause: error },
  )
}
