/**
 * Pages of a mapped file count as this process's memory once they were read, although they are the kernel's cache.
 */
import { loadAddon, type NativeAddon } from './native-addon.js'

/** What takes a file's pages out of this process until they are read again; null where the addon is not there. */
export function pageReleaser(): NativeAddon['releaseMappedPages'] | null {
  try {
    const { releaseMappedPages } = loadAddon() as Partial<NativeAddon>
    return releaseMappedPages ?? null
  } catch {
    return null
  }
}
