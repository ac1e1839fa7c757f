/**
 * The HTTP server: sockets, authentication, routes, graceful end.
 */
export { keyCharsMax } from './api-keys.js'
export type { LogLevel, Settings } from './settings.js'
export type { ReloadRequest, SettingKey } from './reload.js'
export { startServer, type RunningServer } from './server.js'
