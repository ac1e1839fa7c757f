/**
 * Finds what belongs to a path. A pattern is a path in which a name in braces stands for one segment, which may be empty:
 * `/v1/images/{gall_id}/{post_no}/{NN}`.
 */

export interface PathMatch<Value> {
  readonly value: Value
  /** The segments of the names in braces, in order, as they are in the path. */
  readonly parameters: readonly string[]
}

export class PathTable<Value> {
  /** Patterns without a name, which most requests have. */
  readonly #exact = new Map<string, PathMatch<Value>>()
  readonly #patterns: { readonly pattern: RegExp; readonly value: Value }[] = []

  constructor(rows: Iterable<readonly [pattern: string, value: Value]>) {
    for (const [path, value] of rows) {
      if (path.includes('{')) this.#patterns.push({ pattern: patternOf(path), value })
      else this.#exact.set(path, { value, parameters: [] })
    }
  }

  /** null: no pattern fits. `path`: without its query, percent-encoded. */
  find(path: string): PathMatch<Value> | null {
    const exact = this.#exact.get(path)
    if (exact !== undefined) return exact
    for (const { pattern, value } of this.#patterns) {
      const match = pattern.exec(path)
      if (match !== null) return { value, parameters: match.slice(1) }
    }
    return null
  }
}

function patternOf(path: string): RegExp {
  const literal = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replace(/\{\w+\}/g, '([^/]*)')}$`)
}
