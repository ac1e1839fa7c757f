/**
 * Models: packages on disk, features, and ONNX sessions in a thread of their own. `loadModel` is the way in.
 */
export { catalogue, featureGroups, type Feature } from './features/index.js'
export { loadModel, type LoadedModel, type LoadOptions } from './loaded-model.js'
export type { ModelLog } from './log.js'
export type { HeadManifest, HeadOutput, Manifest } from './manifest.js'
export { ModelError, type Model } from './model.js'
export { activeVersion, listModels, readPackage, type ModelPackage } from './package.js'
