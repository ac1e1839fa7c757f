/**
 * Stands in for `src/page/service/query.ts` while a view is rendered to a string, which runs no effects: each path has
 * a response at once.
 */
export const responses = new Map<string, unknown>()
/** What the page shows as stale. */
export const stale: object[] = []

export function useQuery(path: string | null): {
  readonly data: unknown
  readonly error: unknown
  readonly loadedAtMs: number | null
} {
  const found = path === null ? undefined : responses.get(path.split('?')[0] ?? '')
  const isError = found instanceof Error
  return {
    data: isError ? null : (found ?? null),
    error: isError ? found : null,
    loadedAtMs: found === undefined ? null : 0,
  }
}

export function useStaleData(): readonly object[] {
  return stale
}
