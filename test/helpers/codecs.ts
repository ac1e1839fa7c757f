/**
 * All available codecs, for suites that apply to each: only the reference if the addon is not built.
 */
import { loadCodec, referenceCodec, type Codec } from '../../src/codec/index.js'
import { loadAddon, type NativeAddon } from '../../src/codec/native-addon.js'

const { codec } = loadCodec('auto')

export const nativeCodecOrNull: Codec | null = codec.name === 'native' ? codec : null

export const codecs: readonly Codec[] =
  nativeCodecOrNull === null ? [referenceCodec] : [referenceCodec, nativeCodecOrNull]

/** The addon itself, for suites that compare its parts with the reference. */
export const addonOrNull: NativeAddon | null = nativeCodecOrNull === null ? null : loadAddon()
