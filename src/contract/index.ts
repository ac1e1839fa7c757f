/**
 * The contract: wire types, their shapes and validators, column layouts, errors, time and limits.
 * Imports nothing of the project; everything else imports it.
 */
export type * from './admin-api.js'
export * from './assert.js'
export * from './columns.js'
export * from './errors.js'
export * from './gallery-table.js'
export * from './health.js'
export type * from './history-api.js'
export * from './limits.js'
export { bodyExamples } from './openapi/examples.js'
export { errorsOf, openApiDocument } from './openapi/document.js'
export * from './operations.js'
export * from './problems.js'
export * from './retry-schedule.js'
export * from './shape.js'
export * from './text.js'
export * from './time.js'
export * from './validate.js'
export * from './warnings.js'
export * from './wire.js'
