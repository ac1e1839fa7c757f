/**
 * The admin listener: health checks, metrics, and the data of the operators' page. Nothing here can fail a cycle.
 */
export { startAdmin, type Admin, type AdminOptions } from './admin.js'
