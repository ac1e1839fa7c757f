/**
 * Finds the operation for a method and a path. The routes derive from the operations table.
 */

/** The part of an operation that routing needs. */
export interface Route {
  readonly method: string
  /** A name in braces stands for one path segment, which may be empty. */
  readonly path: string
}

/** The operation and the raw path segments of the names in braces, or the reason why there is none. */
export type RouteMatch<Operation> =
  | { readonly kind: 'operation'; readonly operation: Operation; readonly parameters: readonly string[] }
  | { readonly kind: 'method_not_allowed'; readonly allow: string }
  | { readonly kind: 'not_found' }

interface Resource<Operation> {
  readonly pattern: RegExp
  readonly byMethod: Map<string, Operation>
}

export class Router<Operation extends Route> {
  readonly #resources = new Map<string, Resource<Operation>>()

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const { path, method } = operation
      const resource = this.#resources.get(path) ?? { pattern: patternOf(path), byMethod: new Map() }
      resource.byMethod.set(method, operation)
      if (method === 'GET') resource.byMethod.set('HEAD', operation)
      this.#resources.set(path, resource)
    }
  }

  /** `path` without its query, percent-encoded as the client sent it. */
  find(method: string, path: string): RouteMatch<Operation> {
    for (const { pattern, byMethod } of this.#resources.values()) {
      const match = pattern.exec(path)
      if (match === null) continue
      const operation = byMethod.get(method)
      if (operation === undefined)
        return { kind: 'method_not_allowed', allow: [...byMethod.keys()].join(', ') }
      return { kind: 'operation', operation, parameters: match.slice(1) }
    }
    return { kind: 'not_found' }
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]*)')}$`)
}
