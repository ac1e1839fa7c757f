/** Mutants of src/contract. */
import type { MutantGroup } from './mutant.js'

export const contractMutants: readonly MutantGroup[] = [
  {
    file: 'src/contract/time.ts',
    killedBy: ['src/contract/time.test.ts'],
    mutants: [
      {
        breaks: 'a leap second is at 23:59:60 UTC only, not at 23:30:60',
        find: 'modulo(minuteStart, dayMs) !== dayMs - minuteMs',
        replace: 'modulo(minuteStart, hourMs) === 0',
      },
      {
        breaks: 'an offset west of UTC is subtracted',
        find: "(match[8] === '-' ? -1 : 1)",
        replace: '1',
      },
      {
        breaks: 'a year divisible by 100 is not a leap year',
        find: '(year % 4 === 0 && year % 100 !== 0) || year % 400 === 0',
        replace: 'year % 4 === 0',
      },
      {
        breaks: 'the boundary after a boundary is the next one',
        find: '(Math.floor(ms / cycleBoundaryMs) + 1) * cycleBoundaryMs',
        replace: 'Math.ceil(ms / cycleBoundaryMs) * cycleBoundaryMs',
      },
      {
        breaks: 'digits beyond the double are less than a millisecond',
        find: 'Math.min(Number(`0.${digits}`), 1 - Number.EPSILON / 2)',
        replace: 'Number(`0.${digits}`)',
      },
      {
        breaks: 'a date-time of exactly the maximum length is valid',
        find: 'if (text.length > dateTimeCharsMax) return null',
        replace: 'if (text.length >= dateTimeCharsMax) return null',
      },
    ],
  },
  {
    file: 'src/contract/validate.ts',
    killedBy: ['src/contract/agreement.test.ts', 'src/contract/validate.test.ts'],
    mutants: [
      {
        breaks: 'image positions name no item twice',
        find: 'const items = shape.unique ? shape.items : distinctLists(shape.items)',
        replace: 'const items = distinctLists(shape.items)',
      },
    ],
  },
  {
    file: 'src/contract/find-problems.ts',
    killedBy: ['src/contract/agreement.test.ts', 'src/contract/validate.test.ts'],
    mutants: [
      {
        breaks: 'a number that occurs twice is a duplicate in any place',
        find: 'ascends = (items[index - 1] as number) < (items[index] as number)',
        replace: 'ascends = (items[index - 1] as number) <= (items[index] as number)',
      },
      {
        breaks: 'a list of exactly the maximum length is valid',
        find: 'if (items.length > shape.countMax)',
        replace: 'if (items.length >= shape.countMax)',
      },
      {
        breaks: 'the path of a nested member contains its parents',
        find: '    this.#path.pop()',
        replace: '    this.#path.shift()',
      },
      {
        breaks: 'members of a body are its own, not those of its prototype',
        find: 'const member = known.get(name)',
        replace: 'const member = known.get(name) ?? shape.members[0]',
      },
    ],
  },
  {
    file: 'src/contract/problems.ts',
    killedBy: ['src/contract/validate.test.ts'],
    mutants: [
      {
        breaks: 'exactly 100 problems are listed',
        find: 'this.fields.length < fieldCountMax',
        replace: 'this.fields.length <= fieldCountMax',
      },
    ],
  },
  {
    file: 'src/contract/wire.ts',
    killedBy: ['src/contract/validate.test.ts', 'src/contract/agreement.test.ts'],
    mutants: [
      {
        breaks: 'the height of images is at most 32,767',
        find: 'tags.Maximum<32767>',
        replace: 'tags.Maximum<65535>',
      },
      {
        breaks: 'the tier of a removal is one of four',
        find: "export type Tier = 'main' | 'light' | 'night' | 'app'",
        replace: "export type Tier = 'main' | 'light' | 'night' | 'app' | 'best'",
      },
      {
        breaks: 'weights are not negative',
        find: 'type Weight = number & tags.Minimum<0>',
        replace: 'type Weight = number & tags.Minimum<-1>',
      },
    ],
  },
  {
    file: 'src/contract/retry-schedule.ts',
    killedBy: ['src/contract/retry-schedule.test.ts'],
    mutants: [
      {
        breaks: 'callers who are refused together retry at different times',
        find: 'this.#reservedUntilMs = Math.max(endMs,',
        replace: 'this.#reservedUntilMs = Math.min(endMs,',
      },
      {
        breaks: 'the time to wait has a maximum',
        find: 'Math.max(1, Math.ceil((waitingCount * this.#meanWorkMs) / 1000))',
        replace: 'Math.max(0, Math.ceil((waitingCount * this.#meanWorkMs) / 1000))',
      },
    ],
  },
  {
    file: 'src/contract/openapi/schemas.ts',
    killedBy: ['src/contract/agreement.test.ts', 'test/openapi.test.ts'],
    mutants: [
      {
        breaks: 'the order of an enum does not depend on the compiler',
        find: 'enum: constants.sort(inOrder)',
        replace: 'enum: constants.reverse()',
      },
      {
        breaks: 'a member that may be null is so in the document',
        find: "type: [value['type'], 'null']",
        replace: "type: [value['type']]",
      },
      {
        breaks: 'variants of an object are so in the document',
        find: 'return { oneOf: options.toSorted(',
        replace: 'return { anyOf: options.toSorted(',
      },
    ],
  },
]
