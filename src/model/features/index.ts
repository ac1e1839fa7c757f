/**
 * Features: named numbers that models may ask for, computed from the columns of a cycle.
 */
export { catalogue, featureGroups, fillFeatures, findFeature } from './catalogue.js'
export type { Feature, Fill } from './feature.js'
