/**
 * The HTTP server: sockets, authentication, operations, shutdown.
 */
export { gunzipBody } from './json-body.js'
export type { EndedRequest } from './request-handler.js'
export {
  startServer,
  type AdminSide,
  type RunningServer,
  type ServerSources,
  type StartAdmin,
} from './server.js'
