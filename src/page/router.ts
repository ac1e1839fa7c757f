/**
 * Addresses of the page: the part after `#`, such as `#/posts/gallery/12`, so that the server has one document to serve.
 */
import { eventsOf, useWatched } from './service/topic.js'

const viewNames = ['now', 'picks', 'posts', 'report', 'models', 'cycles'] as const
export type ViewName = (typeof viewNames)[number]

export interface Address {
  readonly view: ViewName
  /** The decoded path segments after the view. */
  readonly segments: readonly string[]
}

export function postAddress(gallId: string, postNo: number | string): string {
  return `#/posts/${encodeURIComponent(gallId)}/${encodeURIComponent(postNo)}`
}

export function useAddress(): Address {
  return parseHash(useWatched(() => location.hash, eventsOf(window, 'hashchange')))
}

export function parseHash(hash: string): Address {
  const [name = '', ...segments] = hash.replace(/^#\/?/, '').split('/').map(decodeSegment)
  const view = viewNames.find((one) => one === name) ?? 'now'
  return { view, segments: segments.filter((segment) => segment !== '') }
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
