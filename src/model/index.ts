/**
 * Models: packages on disk, features, ONNX sessions in separate processes, and the lifecycle of versions.
 */
export { catalogue, featureGroups, findFeature, nearestFeature } from './features/catalogue.js'
export { compileFeatures, type FillFeatures, type MissingValues } from './features/compile.js'
export { named, type Feature } from './features/feature.js'
export type { GoldenFile } from './verification/golden.js'
export { draftManifest, type Draft } from './draft/draft.js'
export type { Finding } from './draft/findings.js'
export { fitToGolden } from './draft/fit-golden.js'
export { goldenFileName, takeGolden } from './draft/golden-cases.js'
export { encodeImages, encodeTexts, type Encoding } from './encodings.js'
export { constantModel } from './constant-model.js'
export { recordGolden, type RecordedRow } from './verification/golden-record.js'
export { portText, type Port, type Ports } from './sessions/ports.js'
export { FallbackFile } from './lifecycle/fallback-file.js'
export { ModelLifecycle } from './lifecycle/lifecycle.js'
export type { ModelAbsence, ModelUsers } from './lifecycle/lifecycle-parts.js'
export { readStatus, StatusFile, type LifecycleStatus } from './lifecycle/status-file.js'
export { loadModel, type LoadedModel } from './loaded-model.js'
export {
  ModelDownError,
  ModelError,
  ModelRowError,
  type EmbeddingColumn,
  type FeatureRows,
  type ImageEncoder,
  type Model,
  type ModelInputs,
  type TextEncoder,
  type Vectors,
} from './model.js'
export { activeVersion, listModels, shadowCountMax, shadowVersions } from './package/selection.js'
export { featureNames, headsOf, missingEmbeddings, namedGraphs } from './package/parse-manifest.js'
export { imageEncoderHash, modelIdentity, textEncoderHash } from './package/identity.js'
export { manifestSchemaText } from './package/manifest-schema.js'
export {
  isVersion,
  manifestName,
  readEncoders,
  readManifest,
  readPackage,
  type ModelPackage,
} from './package/read-package.js'
export type { ExecutionProvider, Manifest } from './package/manifest.js'
export type { LoadOptions, Role as ProcessRole } from './sessions/plans.js'
export { mostlyOnCpuModes, placementText } from './sessions/placement.js'
export { poolVectors } from './sessions/pooling.js'
export { isolateErrors, partsOf, slices } from './sessions/isolate-errors.js'
export { residentBytes, watchMemory } from './sessions/process-memory.js'
export { outputDroppedChannel, type OutputDropped } from './sessions/session-process.js'
export { findExternalData } from './sessions/external-data.js'
export { readPorts } from './verification/port-checks.js'
export { verifyPackage, type VerifyOptions } from './verification/verify.js'
export { versionLoader } from './verification/verified-model.js'
