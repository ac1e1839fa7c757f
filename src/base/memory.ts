/**
 * Memory with undefined contents, for columns whose every value is written. Filling it with zeros first, as typed arrays
 * do, touches each page twice.
 */

/** A buffer of its own. The caller must write every byte that is read. */
export function uninitializedBuffer(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer
}
