/**
 * Models: packages on disk, features, and ONNX sessions in processes of their own. `loadModel` is the way in.
 */
export { imageEncoderHash, modelIdentity, textEncoderHash } from './encoder-hash.js'
export { catalogue, compileFeatures, featureGroups, findFeature, type Feature } from './features/index.js'
export type { FeatureRows } from './feature-rows.js'
export { goldenToleranceDefault, type GoldenCase, type GoldenFile } from './golden.js'
export { recordGolden, type RecordedRow } from './golden-record.js'
export { loadModel, type LoadedModel, type LoadOptions } from './loaded-model.js'
export type { ModelLog } from './log.js'
export { headGraphs, headsOf, namedGraphs, parseManifest } from './manifest-file.js'
export { manifestSchemaText } from './manifest-schema.js'
export type { HeadManifest, HeadOutput, ImageManifest, Manifest, TextManifest } from './manifest.js'
export {
  ModelDownError,
  ModelError,
  type EmbeddingColumn,
  type ImageEncoder,
  type Model,
  type ModelInputs,
  type TextEncoder,
  type Vectors,
} from './model.js'
export { portText, readOnnx, type OnnxFile, type OnnxPort } from './onnx-file/index.js'
export {
  activeVersion,
  checkHashes,
  hashProblem,
  listModels,
  readManifest,
  readPackage,
  shadowCountMax,
  shadowVersions,
  type ModelPackage,
  type PackageFileEntry,
} from './package.js'
export { poolVectors } from './pool-vectors.js'
export {
  assertSound,
  loadSoundModel,
  loadSoundModelBeside,
  verifyPackage,
  type CheckLine,
  type VerificationReport,
  type VerifyOptions,
} from './verification/index.js'
