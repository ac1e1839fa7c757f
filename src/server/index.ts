/**
 * The HTTP server: sockets, authentication, operations, shutdown.
 */
export { startServer, type RunningServer } from './server.js'
