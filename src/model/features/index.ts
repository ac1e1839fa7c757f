/**
 * Features: named numbers that a manifest may list, computed from the columns of a cycle.
 */
export { catalogue, catalogueVersion, featureGroups, findFeature, nearestFeature } from './catalogue.js'
export { compileFeatures, type FillFeatures, type MissingValues } from './compile.js'
export type { Expression } from './expression.js'
export type { Feature } from './feature.js'
