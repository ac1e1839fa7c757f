/**
 * Pools a graph's output to one vector an image.
 */

/** The output of one run. */
export interface ImageOutput {
  readonly values: Float32Array
  /** [images, dim], [images, tokens, dim] or [images, dim, height, width]. */
  readonly dims: readonly number[]
}

/**
 * Writes the vector of `image` to `target` [dim]: the first token, or the mean over tokens or cells. False where it is
 * not finite; then `target` is zeros.
 */
export function poolImage(
  { values, dims }: ImageOutput,
  image: number,
  pool: 'cls' | 'mean' | null,
  target: Float32Array,
): boolean {
  const dim = target.length
  const size = dims.slice(1).reduce((product, length) => product * length, 1)
  const one = values.subarray(image * size, (image + 1) * size)
  const isCells = dims.length === 4
  if (pool === 'mean' && dims.length > 2) {
    const count = size / dim
    for (let column = 0; column < dim; column++) {
      target[column] = isCells ? mean(one, column * count, 1, count) : mean(one, column, dim, count)
    }
  } else {
    target.set(one.subarray(0, dim))
  }
  const isFinite = target.every(Number.isFinite)
  if (!isFinite) target.fill(0)
  return isFinite
}

function mean(values: Float32Array, start: number, step: number, count: number): number {
  let sum = 0
  for (let index = 0, at = start; index < count; index++, at += step) sum += values[at] as number
  return sum / count
}
