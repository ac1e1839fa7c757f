/**
 * Which operation a method and a path name (interface.md section 4; decisions.md 7, 8, 32). Knows no bodies and no
 * sockets.
 */

export type Operation =
  'postCycle' | 'getScores' | 'putImage' | 'getHealth' | 'postOutcomes' | 'putWeights' | 'getWeights'

/** The operation and the raw segments of the path that vary; or why there is none. */
export type Route =
  | { readonly kind: 'operation'; readonly operation: Operation; readonly parameters: readonly string[] }
  | { readonly kind: 'method_not_allowed'; readonly allow: string }
  | { readonly kind: 'not_found' }

interface Resource {
  readonly path: RegExp
  readonly operations: Readonly<Record<string, Operation>>
}

const resources: readonly Resource[] = [
  { path: /^\/v1\/cycles$/, operations: { POST: 'postCycle' } },
  { path: /^\/v1\/scores\/([^/]+)$/, operations: { GET: 'getScores', HEAD: 'getScores' } },
  { path: /^\/v1\/images\/([^/]*)\/([^/]*)\/([^/]*)$/, operations: { PUT: 'putImage' } },
  { path: /^\/v1\/health$/, operations: { GET: 'getHealth', HEAD: 'getHealth' } },
  { path: /^\/v1\/outcomes$/, operations: { POST: 'postOutcomes' } },
  { path: /^\/v1\/weights$/, operations: { GET: 'getWeights', HEAD: 'getWeights', PUT: 'putWeights' } },
]

/** `path` without its query, as it came on the wire. */
export function findRoute(method: string, path: string): Route {
  for (const { path: pattern, operations } of resources) {
    const match = pattern.exec(path)
    if (match === null) continue
    const operation = Object.hasOwn(operations, method) ? operations[method] : undefined
    if (operation === undefined)
      return { kind: 'method_not_allowed', allow: Object.keys(operations).join(', ') }
    return { kind: 'operation', operation, parameters: match.slice(1) }
  }
  return { kind: 'not_found' }
}
