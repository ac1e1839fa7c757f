/**
 * Bytes ⇄ columns: cycle bodies and responses on the wire, packed columns on the disk; and programs over columns.
 */
export { bodyBufferBytes } from './body-buffer.js'
export { runBodyTask } from './body-tasks.js'
export {
  columnOperations,
  type ColumnInputs,
  type ColumnOperation,
  type ColumnProgram,
  type ProgramColumn,
} from './column-program.js'
export type { ResponseColumns } from './encode-response.js'
export { codecName, codecNote, decodeCycle, encodeResponse, readCycle, runColumns } from './loaded.js'
export {
  loadAddon,
  type LineWeights,
  type NativeAddon,
  type RgbPixels,
  type WeightedMeans,
} from './native-addon.js'
export { packTable, unpackTable, type PackedTable } from './pack.js'
