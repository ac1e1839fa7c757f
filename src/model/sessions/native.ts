/**
 * What processes that share a batch need of the addon.
 */
import type { NativeAddon } from '../../codec/index.js'
import { loadFromAddon } from '../native.js'

export type SharingAddon = Pick<NativeAddon, 'createMemoryFile' | 'createEvent' | 'mapFile'>

/** null: there is no addon, or one that an older version built. */
export function loadSharingAddon(): SharingAddon | null {
  return loadFromAddon('createMemoryFile', 'createEvent', 'mapFile')
}
