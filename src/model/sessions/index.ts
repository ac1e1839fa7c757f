/**
 * ONNX sessions in child processes: a crash, a hang or a hunger for memory ends one of them and never the service.
 */
export { headsCourier, plainCourier, type Courier, type HeadRows } from './courier.js'
export { BlockingFrames, FrameReader, frameOf } from './frames.js'
export type { Matrices } from './head-memory.js'
export type {
  FilePlan,
  GraphPlan,
  HeadGraphPlan,
  HeadPlace,
  HeadsPlan,
  ImagePlan,
  ImageReply,
  ImageRequest,
  MatrixName,
  ProgramPlan,
  Role,
  TextPlan,
  TextReply,
  TextRequest,
} from './protocol.js'
export { SessionHost, type HostOptions } from './session-host.js'
export { startMsMax, type SessionProcess, type StartChild } from './session-process.js'
