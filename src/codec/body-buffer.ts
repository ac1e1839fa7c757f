/**
 * Padding after a body: native code reads whole vectors, and with padding it decodes a body without a copy.
 */

/** Bytes that native code may read beyond a body (`body_padding_bytes` in native/padded_bytes.h). */
const bodyPaddingBytes = 64

/**
 * How large a buffer to allocate for a body of `length` bytes: native code decodes a body in place when its buffer continues
 * after it, and copies it otherwise.
 */
export function bodyBufferBytes(length: number): number {
  return length + bodyPaddingBytes
}
