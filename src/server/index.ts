/**
 * The HTTP server: sockets, authentication, operations, shutdown.
 */
export type { LogLevel, Settings } from './settings.js'
export type { ReloadRequest, SettingKey } from './reload.js'
export { startServer, type RunningServer } from './server.js'
