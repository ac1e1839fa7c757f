/**
 * The rehearsal: a simulated client that sends a service the posts of some hours, suffers the faults that clients
 * suffer, and checks every answer against the contract. It knows the contract and HTTP, nothing else.
 */
export { Breach, OptionError, RehearsalError, type BreachDetail, type RehearsalErrorKind } from './breach.js'
export type { Absence } from './http-client.js'
export { settleSimulation, type RehearsalOptions, type SimulationOptions } from './options.js'
export { rehearse } from './rehearsal.js'
export type { RehearsalProgress, RehearsalReport, RehearsalTotals, TopPost } from './report.js'
