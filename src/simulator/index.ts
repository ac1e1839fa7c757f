/**
 * The simulated client: it sends the generated posts of several hours to a service, injects client faults, and checks every
 * response against the contract. It depends on the contract and the packaged client, and on no code of the server.
 */
export { ContractViolation, OptionError, SimulationError, type SimulationErrorKind } from './errors.js'
export type { Outage } from './api.js'
export { resolveWorkload, type SimulationOptions, type WorkloadOptions } from './options.js'
export type { SimulationProgress, SimulationReport, SimulationTotals, TopPost } from './report.js'
export { simulate } from './simulator.js'
