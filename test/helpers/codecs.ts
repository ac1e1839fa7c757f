/**
 * Both codecs, for suites that compare them: only the reference if the addon is not built.
 */
import { nativeCodec, referenceCodec, type Codec } from '../../src/codec/codec.js'
import { codecName } from '../../src/codec/index.js'
import { loadAddon, type NativeAddon } from '../../src/codec/native-addon.js'

export { referenceCodec, type Codec }

/** The addon itself, for suites that compare its parts with the reference. */
export const addonOrNull: NativeAddon | null = codecName === 'native' ? loadAddon() : null

export const nativeCodecOrNull: Codec | null = addonOrNull && nativeCodec(addonOrNull)

export const codecs: readonly Codec[] =
  nativeCodecOrNull === null ? [referenceCodec] : [referenceCodec, nativeCodecOrNull]
