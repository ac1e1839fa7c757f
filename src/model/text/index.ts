/**
 * The steps around the graph of a text encoder: from a post's record to token rows and batches.
 */
export { planBatches } from './batches.js'
export { htmlToText } from './html-text.js'
export { parseTemplate, readPost, type PostText, type Template } from './post-text.js'
export { openTokenizer, type TextTokenizer, type TokenizerOptions, type TokenRow } from './tokenizer.js'
