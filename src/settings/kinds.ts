/**
 * Kinds of settings: the rule in words, and the parsers for text (a flag, the environment) and for the JSON file. A parser
 * returns undefined for a value that breaks the rule; the caller reports the error.
 */
import { resolve } from 'node:path'
import { AddressProblem, parseJson, readPostgresAddress } from '../base/index.js'
import { checkWeights, type WeightsRequest } from '../contract/index.js'

export interface SettingKind<Value> {
  /** Completes "must be …". */
  readonly rule: string
  /** The rule for the JSON file, if it differs. */
  readonly ruleInFile?: string
  /** The rule of a number, as the documentation shows it. */
  readonly range?: string
  /** `directory`: the base of a relative path. */
  fromText(text: string, directory: string): Value | undefined
  /** What exactly is wrong with a text, without a part that may be secret; null: nothing that is known. */
  problemOf?(text: string): string | null
  fromJson(value: unknown, directory: string): Value | undefined
}

const addressCharsMax = 2000

export function integer(minimum: number, maximum: number): SettingKind<number> {
  const check = (value: unknown): number | undefined =>
    typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum
      ? value
      : undefined
  return {
    rule: `an integer from ${minimum} to ${maximum}`,
    range: `From ${minimum} to ${maximum}`,
    fromText: (text) => (/^\d{1,15}$/.test(text) ? check(Number(text)) : undefined),
    fromJson: check,
  }
}

/** A port to listen on, or `off`. */
export const portOrOff: SettingKind<number | 'off'> = {
  rule: 'an integer from 0 to 65535, or off',
  fromText: (value, directory) => (value === 'off' ? value : integer(0, 65_535).fromText(value, directory)),
  fromJson: (value, directory) => (value === 'off' ? value : integer(0, 65_535).fromJson(value, directory)),
}

/** Text that matches a pattern; `rule` describes the pattern. */
export function text(rule: string, pattern: RegExp): SettingKind<string> {
  return ofText(rule, (value) => (pattern.test(value) ? value : undefined))
}

/** One word of a list. */
export function oneOf<const Word extends string>(words: readonly Word[]): SettingKind<Word> {
  return ofText(`one of ${words.join(', ')}`, (value) => words.find((word) => word === value))
}

/** A path, made absolute. */
export const path: SettingKind<string> = ofText('a path', (value, directory) =>
  value === '' || value.includes('\0') ? undefined : resolve(directory, value),
)

/** The address of a PostgreSQL database, of which every part is known. */
export const postgresAddress: SettingKind<string> = {
  ...ofText('a postgres:// address', (value) =>
    addressProblem(value) === null && value.length <= addressCharsMax ? value : undefined,
  ),
  problemOf: addressProblem,
}

function addressProblem(value: string): string | null {
  try {
    readPostgresAddress(value)
    return null
  } catch (error) {
    if (error instanceof AddressProblem) return error.message
    throw error
  }
}

/** A list of words that `each` describes, without duplicates: separated by commas in text, an array in JSON. */
export function listOf(each: string, pattern: RegExp): SettingKind<readonly string[]> {
  const check = (items: readonly unknown[]): readonly string[] | undefined => {
    const words = items.filter((item): item is string => typeof item === 'string' && pattern.test(item))
    const good = words.length === items.length && words.length > 0 && new Set(words).size === words.length
    return good ? words : undefined
  }
  return {
    rule: `${each}; separated by commas, without duplicates`,
    ruleInFile: `a JSON array of ${each}; without duplicates`,
    fromText: (text) => check(text.split(',').map((item) => item.trim())),
    fromJson: (value) => (Array.isArray(value) ? check(value) : undefined),
  }
}

/** Weights in the form of `PUT /v1/weights`, under the same rules. */
export const weights: SettingKind<WeightsRequest> = {
  rule: 'an object like {"version":"initial","weights":{"views":0.4,"comments":0.3,"up":0.3,"downvote_share":0}} with weights of at least 0, one of views, comments, up above 0',
  fromText: (text) => weights.fromJson(parseJson(text), ''),
  fromJson: (value) => (isWeights(value) ? value : undefined),
}

function isWeights(value: unknown): value is WeightsRequest {
  if (checkWeights(value) !== null) return false
  const { views, comments, up } = (value as WeightsRequest).weights
  return views > 0 || comments > 0 || up > 0
}

function ofText<Value extends string>(
  rule: string,
  read: (value: string, directory: string) => Value | undefined,
): SettingKind<Value> {
  return {
    rule,
    fromText: read,
    fromJson: (value, directory) => (typeof value === 'string' ? read(value, directory) : undefined),
  }
}
