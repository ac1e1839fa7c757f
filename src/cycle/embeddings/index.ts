/**
 * Embeddings of texts and pictures: made once, kept in the store, at hand by slot when a cycle is scored.
 */
export { readCandidates } from './candidate-records.js'
export { CarefulTexts } from './careful-texts.js'
export { Embeddings, type EmbeddingsParts, type EmbeddingInputs } from './embeddings.js'
export { Gathered } from './gathered.js'
export { Poison } from './poison.js'
export { kindWarnings, readingWarnings } from './reading-warnings.js'
export type { EnteringTexts } from './text-book.js'
export { textKey } from './text-key.js'
