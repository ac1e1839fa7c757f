/**
 * ONNX messages field by field, for graphs that no tool produces. Numbers are field numbers of onnx.proto.
 */

export function message(...fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields)
}

export function bytesField(number: number, content: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(content)
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

export function numberField(number: number, value: number): Uint8Array {
  return Buffer.concat([varint(number * 8), varint(value)])
}

/** A float32 tensor [1] whose value is the first four bytes of the file at `location`. */
export function externalTensor(name: string, location: string): Uint8Array {
  const entry = (key: string, value: string): Uint8Array =>
    bytesField(13, message(bytesField(1, key), bytesField(2, value)))
  return message(
    numberField(1, 1),
    numberField(2, 1),
    bytesField(8, name),
    entry('location', location),
    entry('offset', '0'),
    entry('length', '4'),
    numberField(14, 1),
  )
}

/** A float32 tensor as an input or output of a graph. */
export function portOf(name: string, shape: readonly (string | number)[]): Uint8Array {
  const sizes = shape.map((size) =>
    bytesField(1, typeof size === 'number' ? numberField(1, size) : bytesField(2, size)),
  )
  const tensor = message(numberField(1, 1), bytesField(2, message(...sizes)))
  return message(bytesField(1, name), bytesField(2, bytesField(1, tensor)))
}

function varint(value: number): Uint8Array {
  return value < 128
    ? Uint8Array.of(value)
    : Buffer.concat([Uint8Array.of((value % 128) + 128), varint(Math.floor(value / 128))])
}
