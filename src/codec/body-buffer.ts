/**
 * The bytes of a body: with padding after it, native code, which reads whole vectors, decodes it without a copy.
 */

/** Bytes that native code may read beyond a body (`body_padding_bytes` in native/padded_bytes.h). */
const bodyPaddingBytes = 64

/** How large a buffer to allocate for a body of `length` bytes, so that native code decodes it without a copy. */
export function bodyBufferBytes(length: number): number {
  return length + bodyPaddingBytes
}

/** The body, or a copy if its buffer does not continue far enough after it. */
export function pad(body: Uint8Array): Uint8Array {
  return bodyBufferBytes(body.byteOffset + body.length) <= body.buffer.byteLength ? body : paddedCopy(body)
}

/** The same bytes as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A copy in a separate buffer. */
export function paddedCopy(body: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bodyBufferBytes(body.length))
  copy.set(body)
  return copy.subarray(0, body.length)
}
