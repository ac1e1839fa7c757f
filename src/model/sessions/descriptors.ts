/**
 * What a child process finds where. Its owner lays these out when it starts one.
 */

/** Nothing is ever written here: it ends when the owner does, however that comes about. */
export const lifelineDescriptor = 0
/** Frames, both ways. */
export const messageDescriptor = 3
/** The memory that both share, for roles that have some. */
export const memoryDescriptor = 4
/** Rung for each batch, for roles that have one. */
export const doorbellDescriptor = 5
