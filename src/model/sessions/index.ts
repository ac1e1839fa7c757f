/**
 * ONNX sessions in child processes: a crash, a hang or unbounded memory ends one of them and never the service.
 */
export type { HeadRows, Matrices } from './batches.js'
export { residentBytes } from './process-memory.js'
export { askProcess, startMsMax } from './session-process.js'
export {
  openEncoderHost,
  openHeadsHost,
  type EncoderHost,
  type HeadsHost,
  type ServingOptions,
} from './session-host.js'
