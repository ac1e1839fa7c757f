/** Embeddings of texts and images: encoded once, stored, and available by slot when a cycle is scored. */
export { Embeddings, type EmbeddingBacklog, type EmbeddingInputs } from './embeddings.js'
export {
  encodingChannel,
  imageBatchEncoder,
  textBatchEncoder,
  type EncodingMessage,
} from './batch-encoder.js'
export { Quarantine } from './quarantine.js'
export { readCandidates, textKey } from './stored-texts.js'
