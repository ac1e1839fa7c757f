/**
 * Addresses of the page: the part after `#`, such as `#/posts/gallery/12`, so that the server has one document to serve.
 */
import { useEffect, useState } from 'preact/hooks'

export type ViewName = 'now' | 'picks' | 'posts' | 'report' | 'models' | 'cycles'

export interface Address {
  readonly view: ViewName
  /** The decoded path segments after the view. */
  readonly segments: readonly string[]
}

const viewNames: readonly ViewName[] = ['now', 'picks', 'posts', 'report', 'models', 'cycles']

export function parseAddress(hash: string): Address {
  const [name = '', ...segments] = hash.replace(/^#\/?/, '').split('/').map(decoded)
  const view = viewNames.find((one) => one === name) ?? 'now'
  return { view, segments: segments.filter((segment) => segment !== '') }
}

export function postAddress(gallId: string, postNo: number | string): string {
  return `#/posts/${encodeURIComponent(gallId)}/${encodeURIComponent(postNo)}`
}

export function useAddress(): Address {
  const [address, setAddress] = useState(() => parseAddress(location.hash))
  useEffect(() => {
    const onChange = (): void => setAddress(parseAddress(location.hash))
    // It may have changed between the first drawing and now.
    onChange()
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return address
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
