/**
 * The codec of this process, which is loaded when this file is imported: the native one, or the reference codec where the addon
 * does not load, as on a machine without a compiler.
 */
import { firstLineOf } from '../base/index.js'
import { nativeCodec, referenceCodec, type Codec } from './codec.js'
import { loadAddon } from './native-addon.js'

interface LoadedCodec {
  readonly codec: Codec
  /** One line for the log. */
  readonly note: string
}

function load(): LoadedCodec {
  try {
    return { codec: nativeCodec(loadAddon()), note: 'native codec' }
  } catch (error) {
    const note = `reference codec, slower: the native codec does not load: ${firstLineOf(error)}`
    return { codec: referenceCodec, note }
  }
}

const loaded = load()

export const codecNote = loaded.note
export const { name: codecName, decodeCycle, readCycle, encodeResponse, runColumns } = loaded.codec
