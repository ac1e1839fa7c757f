/**
 * The steps around the graph of an image encoder: from a JPEG to its tensor, and from its output to one vector.
 */
export { poolImage, type ImageOutput } from './pooling.js'
export { Preprocessor, type PreprocessOptions } from './preprocess.js'
