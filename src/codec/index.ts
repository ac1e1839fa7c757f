/**
 * Bytes ⇄ columns: cycle bodies and responses on the wire, packed columns on the disk; and programs over columns.
 */
export { bodyBufferBytes } from './body-buffer.js'
export { parsingCount, runBodyTask } from './body-tasks.js'
export { loadCodec, referenceCodec, type Codec, type CodecChoice } from './codec.js'
export {
  columnOperations,
  type ColumnOperation,
  type ColumnProgram,
  type ProgramColumn,
} from './column-program.js'
export { decodeCycle } from './decode-cycle.js'
export { encodeResponse, type ResponseColumns } from './encode-response.js'
export {
  loadAddon,
  type LineWeights,
  type NativeAddon,
  type RgbPixels,
  type WeightedMeans,
} from './native-addon.js'
export { packTable, unpackTable, type PackedTable } from './pack.js'
export { WorkerRunner, type WorkerTask } from './worker.js'
