/**
 * The settings: one table with their names, rules, defaults and descriptions, and the types that derive from it.
 */
export { authorityOf, isLoopback, localUrl } from './addresses.js'
export { path } from './kinds.js'
export { shellWord } from './shell-word.js'
export {
  adminTokenVariable,
  apiKeyCharsMax,
  apiKeyPattern,
  apiKeyRule,
  defaultTextOf,
  fileKeyOf,
  flagOf,
  namesOf,
  valueText,
  needsRestart,
  otherVariables,
  helpTextOf,
  settingNames,
  settingsTable,
  variableOf,
  type Inputs,
  type SettingName,
  type Settings,
} from './table.js'
