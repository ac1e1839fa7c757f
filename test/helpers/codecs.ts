/**
 * All available codecs, for suites that apply to each: only the reference if the addon is not built.
 */
import { loadCodec, referenceCodec, type Codec } from '../../src/codec/index.js'

const { codec } = loadCodec('auto')

export const nativeCodecOrNull: Codec | null = codec.name === 'native' ? codec : null

export const codecs: readonly Codec[] =
  nativeCodecOrNull === null ? [referenceCodec] : [referenceCodec, nativeCodecOrNull]
