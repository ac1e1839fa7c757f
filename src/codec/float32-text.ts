/**
 * Decimal text of float32 numbers: the shortest that reads back as the same float32, spelled as JavaScript spells
 * numbers. A score of 0.1 is `0.1`, not `0.10000000149011612`.
 */

const float32Normal = 2 ** -126

/** Shortest round-trip text of a finite float32. */
export function float32Text(value: number): string {
  // Six digits distinguish all normal float32 whose text has at most six digits; nine always suffice.
  const digitsMin = Math.abs(value) < float32Normal ? 1 : 6
  for (let digits = digitsMin; digits < 9; digits++) {
    const decimal = Number(value.toPrecision(digits))
    if (Math.fround(decimal) === value) return String(decimal)
  }
  return String(Number(value.toPrecision(9)))
}
