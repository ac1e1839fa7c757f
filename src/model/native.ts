/**
 * The addon for whoever needs a few calls of the system and no codec: it is loaded from its file here, since a child
 * process would spend most of its start on loading the codec around it.
 */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { NativeAddon } from '../codec/index.js'

/** These members of it. null: there is no addon, or one that an older version built. */
export function loadFromAddon<Name extends keyof NativeAddon>(
  ...names: readonly Name[]
): Pick<NativeAddon, Name> | null {
  const file = fileURLToPath(new URL('../../build/Release/understudy_codec.node', import.meta.url))
  try {
    const addon = createRequire(import.meta.url)(file) as NativeAddon
    return names.every((name) => name in addon) ? addon : null
  } catch {
    return null
  }
}
