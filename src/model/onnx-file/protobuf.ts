/**
 * Reads protobuf without a schema: the fields of one message, in order. What a field means, the caller knows.
 *
 *   key     varint: field number * 8 + wire type
 *   value   wire type 0: varint · 1: 8 bytes · 2: varint length, then that many bytes · 5: 4 bytes
 */

/** The bytes are no protobuf, or no longer where they end. */
export class ProtobufError extends Error {}

export interface Field {
  readonly number: number
  /** Of wire type 0: up to 2^53 exact, beyond that near. 0 for other types. */
  readonly value: number
  /** Of wire types 1, 2 and 5: a view into the message. Empty for varints. */
  readonly bytes: Uint8Array
}

const none = new Uint8Array(0)
/** A varint has 64 bits, seven a byte. */
const varintBytesMax = 10
const utf8 = new TextDecoder('utf-8', { fatal: false })

/** Throws a `ProtobufError` where the bytes do not follow the format. */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let digits = 0; digits < varintBytesMax; digits++) {
      const byte = message[at++]
      if (byte === undefined) throw new ProtobufError('a number is cut off')
      value += (byte & 127) * 2 ** (7 * digits)
      if (byte < 128) return value
    }
    throw new ProtobufError('a number does not end')
  }
  const take = (length: number): Uint8Array => {
    if (length > message.length - at) throw new ProtobufError('a field is cut off')
    return message.subarray(at, (at += length))
  }
  while (at < message.length) {
    const key = varint()
    const number = Math.floor(key / 8)
    if (number === 0) throw new ProtobufError('a field has no number')
    switch (key % 8) {
      case 0:
        yield { number, value: varint(), bytes: none }
        break
      case 1:
        yield { number, value: 0, bytes: take(8) }
        break
      case 2:
        yield { number, value: 0, bytes: take(varint()) }
        break
      case 5:
        yield { number, value: 0, bytes: take(4) }
        break
      default:
        throw new ProtobufError(`a field has wire type ${key % 8}`)
    }
  }
}

export function textOf(field: Field): string {
  return utf8.decode(field.bytes)
}
