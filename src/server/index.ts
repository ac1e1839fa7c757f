/**
 * The HTTP server: sockets, authentication, operations, shutdown.
 */
export { roundedMs, stagesMs } from './cycle-log.js'
export { DiskSpace, diskReason, type DiskFigures } from './disk-space.js'
export type { EndedRequest, OutgoingResponse } from './exchange.js'
export { heldBytesKinds, heldCallsKinds } from './held-resources.js'
export { decodeSegment } from './image-path.js'
export { gunzipBody } from './json-body.js'
export { lastCycleOf } from './operations.js'
export { acceptsCoding, gzipResponse } from './response-encoding.js'
export {
  startServer,
  type AdminSide,
  type RunningServer,
  type ServerSources,
  type StartAdmin,
} from './server.js'
