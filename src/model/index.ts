/**
 * Models: packages on disk, features, ONNX sessions in separate processes, and the lifecycle of versions.
 */
export {
  catalogue,
  compileFeatures,
  featureGroups,
  findFeature,
  nearestFeature,
  type Feature,
} from './features/index.js'
export type { GoldenFile } from './golden.js'
export { recordGolden, type RecordedRow } from './golden-record.js'
export { portText, type Port, type Ports } from './graph-ports/index.js'
export {
  ModelLifecycle,
  readStatus,
  StatusFile,
  type LifecycleStatus,
  type ModelUsers,
} from './lifecycle/index.js'
export { loadModel, type LoadedModel } from './loaded-model.js'
export {
  ModelDownError,
  ModelError,
  ModelRowError,
  type EmbeddingColumn,
  type ImageEncoder,
  type Model,
  type ModelInputs,
  type ModelLog,
  type TextEncoder,
  type Vectors,
} from './model.js'
export {
  activeVersion,
  featureNames,
  headsOf,
  imageEncoderHash,
  listModels,
  manifestSchemaText,
  modelIdentity,
  readManifest,
  readPackage,
  shadowCountMax,
  shadowVersions,
  textEncoderHash,
  type ExecutionProvider,
  type Manifest,
  type ModelPackage,
} from './package/index.js'
export type { LoadOptions } from './plans.js'
export { poolVectors } from './pooling.js'
export { sizeText } from './size-text.js'
export {
  readPorts,
  verifyPackage,
  versionLoader,
  type CheckLine,
  type VerificationReport,
  type VerifyOptions,
} from './verification/index.js'
