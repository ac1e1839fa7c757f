/**
 * Bytes: memory for them, and views of them.
 */

/**
 * Memory with undefined contents, for columns whose every value is written. Filling it with zeros first, as typed arrays
 * do, touches each page twice. The caller must write every byte that is read.
 */
export function uninitializedBuffer(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer
}

/** The same bytes, for numbers of any size at any offset. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
