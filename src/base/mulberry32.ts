/** Pseudo-random numbers whose sequence is part of a result, or of a test: the same on every machine. */

/** Uniform from 0 to 1, exclusive, in steps of 2^-32: mulberry32 of Tommy Ettinger. */
export function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}
