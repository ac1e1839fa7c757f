/**
 * Child processes: how they are started, what they find, and how their owner hears of their end.
 */
export { messageDescriptor } from './descriptors.js'
export { followChild } from './node-process.js'
export { startProcess } from './start-process.js'
export type { StartedProcess } from './started-process.js'
