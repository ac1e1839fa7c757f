/**
 * What a cycle and the pool are on disk: each table declared once, packed and read by the names of its columns. It knows nothing of
 * storage, models or HTTP.
 */
export {
  packCycleRecord,
  readCycleHeader,
  readCycleTable,
  tookEffect,
  type CycleRecordHeader,
  type CycleRows,
  type CycleTables,
} from './cycle-record.js'
export { packSavedPool, poolTable, readSavedPool, type PoolRows } from './saved-pool.js'
export { packRows, unpackRows, type ColumnType, type Rows, type TableDeclaration } from './table.js'
export {
  cycleColumn,
  cycleTableNames,
  cycleTables,
  type CycleColumnName,
  type CycleTableName,
} from './tables.js'
