/**
 * What every child process finds where; 1 and 2 are what it prints. Those that are handed to it besides come behind.
 */

/** Nothing is ever written here: it ends when the owner does, however that comes about. */
export const lifelineDescriptor = 0
/** Frames, both ways. */
export const messageDescriptor = 3
/** Of the first that is handed to it besides. */
export const firstFreeDescriptor = 4
