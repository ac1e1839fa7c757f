/**
 * Model packages on disk: the manifest with its schema and its problems, the files it names, the hashes that identify
 * encoders and models, and the files `ACTIVE` and `SHADOW`. Every error is a `ModelError` that names a path.
 */
export { imageEncoderHash, modelIdentity, textEncoderHash } from './identity.js'
export { manifestSchemaText } from './manifest-schema.js'
export type {
  ExecutionProvider,
  GraphManifest,
  HeadManifest,
  ImageManifest,
  Manifest,
  PackageFile,
  Sha256,
  TextManifest,
} from './manifest.js'
export { featureNames, headGraphs, headsOf, missingEmbedding, namedGraphs } from './parse-manifest.js'
export { readManifest, readPackage, type ModelPackage } from './read-package.js'
export { imageSettings, textSettings, type ImageSettings, type TextSettings } from './settings.js'
export { parseTyped } from './parse-typed.js'
export { readHashed } from './read-file.js'
export { activeVersion, listModels, shadowCountMax, shadowVersions } from './selection.js'
