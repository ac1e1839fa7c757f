/**
 * What a graph must have to serve its part of a plan: the rules for its inputs and outputs, for `verify` and for the
 * process that opens it alike.
 */
export {
  headInputs,
  headPortProblems,
  type HeadInput,
  type HeadPorts,
  type HeadWidths,
} from './head-ports.js'
export { imagePortProblems, inputShape, isPoolable, pixelSize, type ImagePorts } from './image-ports.js'
export { fileProblems, irVersionMax, opsetsMax } from './ports.js'
export { textPortProblems, type TextPorts } from './text-ports.js'
