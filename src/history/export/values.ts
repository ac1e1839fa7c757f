/**
 * Conversions that the rows of an export share.
 */
import { parseInstant } from '../../contract/index.js'

/** Milliseconds since 1970 with a fraction; NaN for null. */
export function instantOf(text: string | null | undefined): number {
  const instant = typeof text === 'string' ? parseInstant(text) : null
  return instant === null ? NaN : instant.ms + instant.fraction
}

/** Values by key, in the order of the first value of each. */
export function groupBy<Value, Key>(
  values: Iterable<Value>,
  keyOf: (value: Value) => Key,
): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group === undefined) groups.set(keyOf(value), [value])
    else group.push(value)
  }
  return groups
}
