/**
 * Finds the operation for a method and a path. The routes derive from the contract's table of operations.
 */
import { operations, ServiceError, type Operation, type OperationId } from '../contract/index.js'

export interface Route {
  readonly id: OperationId
  readonly operation: Operation
  /** The raw path segments of the names in braces. */
  readonly parameters: readonly string[]
}

const routes = (Object.entries(operations) as [OperationId, Operation][]).map(([id, operation]) => ({
  id,
  operation,
  pattern: patternOf(operation.path),
}))

/** The route, or the error of a request without one. `path`: without its query, percent-encoded as the client sent it. */
export function findRoute(method: string, path: string): Route | ServiceError {
  const matches = routes.flatMap(({ id, operation, pattern }): Route[] => {
    const match = pattern.exec(path)
    return match === null ? [] : [{ id, operation, parameters: match.slice(1) }]
  })
  const operationMethod = method === 'HEAD' ? 'GET' : method
  const found = matches.find(({ operation }) => operation.method === operationMethod)
  if (found !== undefined) return found
  if (matches.length === 0) return new ServiceError('not_found', 'unknown path')
  const methods = matches.map(({ operation }) =>
    operation.method === 'GET' ? 'GET, HEAD' : operation.method,
  )
  const allow = methods.join(', ')
  return new ServiceError('method_not_allowed', `allowed methods: ${allow}`, { allow })
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]*)')}$`)
}
