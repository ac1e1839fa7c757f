/**
 * Finds the operation for a method and a path. The routes derive from the contract's table of operations.
 */
import { PathTable } from '../base/index.js'
import { operations, ServiceError, type Operation, type OperationId } from '../contract/index.js'

export interface Route {
  readonly id: OperationId
  readonly operation: Operation
  /** Method and path of the operation. */
  readonly name: string
}

export interface FoundRoute extends Route {
  /** The raw path segments of the names in braces. */
  readonly parameters: readonly string[]
}

/** The operations of one path, by method. */
type Methods = ReadonlyMap<string, Route>

const routes = (Object.entries(operations) as [OperationId, Operation][]).map(([id, operation]): Route => ({
  id,
  operation,
  name: `${operation.method} ${operation.path}`,
}))
const paths = new PathTable<Methods>(
  [...Map.groupBy(routes, ({ operation }) => operation.path)].map(
    ([path, group]) => [path, new Map(group.map((route) => [route.operation.method, route]))] as const,
  ),
)

/** The route, or the error of a request without one. `path`: without its query, percent-encoded as the client sent it. */
export function findRoute(method: string, path: string): FoundRoute | ServiceError {
  const match = paths.find(path)
  if (match === null) return new ServiceError({ code: 'unknown_path' })
  const route = match.value.get(method === 'HEAD' ? 'GET' : method)
  if (route !== undefined) return { ...route, parameters: match.parameters }
  const methods = [...match.value.keys()].map((allowed) => (allowed === 'GET' ? 'GET, HEAD' : allowed))
  return new ServiceError({ code: 'wrong_method', allow: methods.join(', ') })
}
