/**
 * The HTTP server: sockets, authentication, operations, shutdown.
 */
export { gunzipBody } from './json-body.js'
export { startServer, type RunningServer } from './server.js'
