/**
 * What processes that share a batch need of the addon. It is loaded from its file here, since a child process would
 * spend most of its start on loading the codec around it.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { NativeAddon } from '../../codec/index.js'

export type SharingAddon = Pick<NativeAddon, 'createMemoryFile' | 'createEvent' | 'mapFile'>

/** null: there is no addon, or one that an older version built. */
export function loadSharingAddon(): SharingAddon | null {
  const file = fileURLToPath(new URL('../../../build/Release/understudy_codec.node', import.meta.url))
  try {
    const { createMemoryFile, createEvent, mapFile } = createRequire(import.meta.url)(
      file,
    ) as Partial<NativeAddon>
    return createMemoryFile && createEvent && mapFile ? { createMemoryFile, createEvent, mapFile } : null
  } catch {
    return null
  }
}
