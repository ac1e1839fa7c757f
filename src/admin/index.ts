/**
 * The admin listener: health checks, metrics, and the data of the operators' page. Nothing here can fail a cycle.
 */
export { startAdmin, type Admin, type AdminOptions } from './admin.js'
export type { Check } from './checks.js'
export { metricsAsMarkdown } from './metrics/table.js'
export type { Now } from './page-data/now.js'
export { json, type Route } from './routes.js'
