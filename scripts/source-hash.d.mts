// The types of source-hash.mjs, which vitest.config.ts imports.
export function hashFiles(root: string, names: readonly string[]): string
export function isStampedWith(stampFile: string, hash: string): boolean
export function withImports(root: string, names: readonly string[]): string[]
