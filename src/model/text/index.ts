/**
 * From a post's record to token rows, and from token vectors to one: what is around a text encoder's graph.
 */
export { planBatches, type Batch } from './batches.js'
export { htmlToText } from './html-text.js'
export { poolRow, type TokenOutput } from './pooling.js'
export { parseTemplate, readPost, type PostText, type Template } from './post-text.js'
export { openTokenizer, type TextTokenizer, type TokenizerOptions, type TokenRow } from './tokenizer.js'
