// The types of free-port.mjs, which the tests import.
export function freePort(): Promise<number>
