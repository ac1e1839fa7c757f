/**
 * From a JPEG to the tensor that an image encoder sees, and from its output to one vector: what is around the graph.
 */
export { poolImage, type ImageOutput } from './pooling.js'
export { Preprocessor, type PreprocessOptions } from './preprocess.js'
