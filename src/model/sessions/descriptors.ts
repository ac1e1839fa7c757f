/**
 * What the process of a session finds where. Its owner lays these out when it starts one.
 */
import { firstFreeDescriptor } from '../processes/descriptors.js'

export { lifelineDescriptor, messageDescriptor } from '../processes/descriptors.js'
/** The memory that both share, for roles that have some. */
export const memoryDescriptor = firstFreeDescriptor
/** Rung for each batch, for roles that have one. */
export const doorbellDescriptor = firstFreeDescriptor + 1
