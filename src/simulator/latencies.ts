/**
 * Durations in a sorted list, so that a percentile can be read at any time.
 */
export class Latencies {
  private readonly sorted: number[] = []
  private newest = 0

  add(ms: number): void {
    let low = 0
    let high = this.sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.sorted[middle] as number) <= ms) low = middle + 1
      else high = middle
    }
    this.sorted.splice(low, 0, ms)
    this.newest = ms
  }

  get count(): number {
    return this.sorted.length
  }

  /** The duration added last, in ms; 0 before the first. */
  get last(): number {
    return this.newest
  }

  /** The smallest duration that at least `share` of all durations do not exceed, in ms; 0 before the first. */
  percentile(share: number): number {
    return this.sorted[Math.max(0, Math.ceil(share * this.sorted.length) - 1)] ?? 0
  }
}
