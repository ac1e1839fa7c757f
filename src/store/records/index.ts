/**
 * The record store: what is stored under which key, and the rules by which it changes, over databases that are
 * elsewhere. LMDB, memory and a journal are the target of a `WriteQueue`, and get their `Store` from `createRecordStore`.
 */
export { applyChanges, type Change } from './changes.js'
export {
  databaseNames,
  databaseTable,
  kinds,
  orderOf,
  type DatabaseName,
  type Databases,
  type KeyOf,
  type KeyRange,
  type Kind,
  type RecordDatabase,
} from './databases.js'
export { expiryHash, hashBefore, linkHash, recordHash, scorerHashes } from './chain.js'
export { openRecord, packRecord } from './envelope.js'
export { countRecords, inspectRecords, type RecordCounts } from './inspect.js'
export { imageNumbersOf, nameHash } from './keys.js'
export {
  packBytes,
  packChainEntry,
  packCycle,
  packPosition,
  packText,
  packWeights,
  readBytes,
  readChainEntry,
  readCycle,
  readImageIdentity,
  readPosition,
} from './payloads.js'
export { lastPosition } from './cycles.js'
export { imageKeyBatch } from './images.js'
export { bytesOf, readRecord, type RecordStoreParts } from './record-access.js'
export { canUpgrade, schemaKey, schemaProblem, schemaRecord, schemaVersionOf } from './schema.js'
export { createRecordStore } from './record-store.js'
export {
  layoutOf,
  oldestSchema,
  schemaVersion,
  upgradedRecords,
  upgradesFrom,
  type LayoutRecord,
} from './upgrades.js'
export {
  isViewOfJournal,
  readViewState,
  removeViewState,
  writeViewState,
  type ViewState,
} from './view-state.js'
export { WriteQueue, type CommitTarget } from './write-queue.js'
