/**
 * The inputs and outputs that a graph must have for its part of a plan. `verify` and the process that opens the graph
 * apply the same rules.
 */
export {
  headInputs,
  headPortProblems,
  matrixNames,
  type HeadColumn,
  type HeadInput,
  type HeadPorts,
  type MatrixName,
  type MatrixWidths,
} from './head-ports.js'
export { imagePortProblems, inputShape, isPoolable, pixelSize } from './image-ports.js'
export { portText, type Port, type Ports } from './ports.js'
export { textPortProblems } from './text-ports.js'
