/**
 * Pseudo-random numbers for weights, the same on every machine.
 */

/** Approximately standard normal, by sums only: logarithms and sines may differ in their last bit between machines. */
export function approximateNormal(random: () => number): number {
  let sum = -6
  for (let i = 0; i < 12; i++) sum += random()
  return sum
}
