/**
 * The HTTP server: sockets, authentication, routes, graceful end.
 */
export type { LogLevel, Settings } from './settings.js'
export { startServer, type RunningServer } from './server.js'
