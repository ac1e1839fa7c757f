/** Mutants of the TypeScript in src/codec. */
import type { MutantGroup } from './mutant.js'

export const codecMutants: readonly MutantGroup[] = [
  {
    file: 'src/codec/json-bounds.ts',
    killedBy: ['src/codec/json-text.test.ts'],
    mutants: [
      {
        breaks: 'nesting of exactly the limit is accepted',
        find: 'depth > jsonDepthMax',
        replace: 'depth >= jsonDepthMax',
      },
      {
        breaks: 'exactly the maximum of arrays and objects is accepted',
        find: 'containerCount > jsonContainerCountMax',
        replace: 'containerCount >= jsonContainerCountMax',
      },
      {
        breaks: 'a quote after an escaped backslash closes the string',
        find: 'if (slashes % 2 === 0) return at',
        replace: 'if (slashes === 0) return at',
      },
    ],
  },
  {
    file: 'src/codec/json-text.ts',
    killedBy: ['src/codec/json-text.test.ts'],
    mutants: [
      {
        breaks: 'control characters in a string are an error',
        find: 'const plainCharacters = /[ !#',
        replace: 'const plainCharacters = /[\\n !#',
      },
      {
        breaks: 'a trailing comma is an error',
        find: "expect = closingBrackets.at(-1) === '}' ? 'key' : 'value'",
        replace: "expect = closingBrackets.at(-1) === '}' ? 'keyOrEnd' : 'valueOrEnd'",
      },
    ],
  },
  {
    file: 'src/codec/pack.ts',
    killedBy: ['src/codec/pack.test.ts'],
    mutants: [
      {
        breaks: 'a range of exactly 65,535 needs four bytes',
        find: 'range < 0xffff)',
        replace: 'range <= 0xffff)',
      },
      { breaks: 'a range of exactly 255 needs two bytes', find: 'range < 0xff)', replace: 'range <= 0xff)' },
      {
        breaks: 'a column with fractions keeps them',
        find: 'if (whole && Math.floor(value) !== value) whole = false',
        replace: 'if (whole && value > max) whole = false',
      },
      {
        breaks: 'a table of another format is refused',
        find: '|| view.getUint32(0, true) !== magic',
        replace: '',
      },
    ],
  },
  {
    file: 'src/codec/text-measures.ts',
    killedBy: ['src/codec/codec.test.ts'],
    mutants: [
      { breaks: 'emoji begin at U+1F000', find: 'point >= 0x1f000', replace: 'point > 0x1f000' },
      {
        breaks: 'U+200B is not white space',
        find: 'point === 0x3000 ||',
        replace: 'point === 0x3000 ||\n        point === 0x200b ||',
      },
      {
        breaks: 'the first Hangul syllable counts',
        find: 'point >= 0xac00 && point <= 0xd7a3',
        replace: 'point > 0xac00 && point <= 0xd7a3',
      },
      {
        breaks: 'a lone high surrogate before U+E000 is one code point',
        find: 'if (point > 0xffff) at++',
        replace: 'at++',
      },
    ],
  },
  {
    file: 'src/codec/decode-cycle.ts',
    killedBy: ['src/codec/codec.test.ts'],
    mutants: [
      { breaks: 'a null counter is NaN, not 0', find: 'row[name] ?? NaN', replace: 'row[name] ?? 0' },
    ],
  },
  {
    file: 'src/codec/decode-cycle.ts',
    killedBy: ['src/codec/differential.test.ts'],
    mutants: [
      {
        breaks: 'the fraction of a millisecond of a snapshot is kept',
        find: 'snapshotAtFraction: Float64Array.from(taken, (at) => at.fraction)',
        replace: 'snapshotAtFraction: Float64Array.from(taken, () => 0)',
      },
      {
        breaks: 'members that the contract does not define are listed',
        find: 'if (found.size < unknownNameCountMax) found.add(name)',
        replace: 'if (found.size > unknownNameCountMax) found.add(name)',
      },
    ],
  },
  {
    file: 'src/codec/row-slices.ts',
    killedBy: ['src/codec/codec.test.ts'],
    mutants: [
      { breaks: 'of two lists of candidates the last one applies', find: 'starts.length = 0', replace: '' },
    ],
  },
  {
    file: 'src/codec/encode-response.ts',
    killedBy: ['src/codec/codec.test.ts'],
    mutants: [{ breaks: 'each scored row has its own score', find: '      scored++\n', replace: '' }],
  },
  {
    file: 'src/codec/float32-text.ts',
    killedBy: ['src/codec/codec.test.ts'],
    mutants: [
      {
        breaks: 'the text of a float32 reads back as the same float32',
        find: 'Math.fround(decimal) === value',
        replace: 'Math.abs(decimal - value) < 1e-6',
      },
    ],
  },
  {
    file: 'src/codec/column-program.ts',
    killedBy: ['src/codec/column-program.test.ts'],
    mutants: [
      {
        breaks: 'an index past the end of a column is refused',
        find: '({ length }, column) => length >= (ends',
        replace: '({ length }, column) => length >= -1 + (ends',
      },
      {
        breaks: 'log is odd: negative numbers have negative logarithms',
        find: 'return x < 0 ? -Math.log1p(-x) : Math.log1p(x)',
        replace: 'return Math.log1p(Math.abs(x))',
      },
      { breaks: 'atLeast of NaN is NaN', find: 'return y > x ? y : x', replace: 'return x > y ? x : y' },
    ],
  },
  {
    file: 'src/codec/body-tasks.ts',
    killedBy: ['src/codec/body-tasks.test.ts'],
    mutants: [
      {
        breaks: 'a body whose thread fails is unavailable, not an error of the client',
        find: "throw new ServiceError('unavailable', 'the body could not be processed', { cause })",
        replace: "throw new ServiceError('bad_request', 'the body could not be processed', { cause })",
      },
    ],
  },
  {
    file: 'src/codec/worker.ts',
    killedBy: ['src/codec/body-tasks.test.ts'],
    mutants: [
      {
        breaks: 'a task that has ended is no longer counted',
        find: 'this.#waitingBytes -= bytes',
        replace: '',
      },
      {
        breaks: 'tasks run one after the other',
        find: 'readonly #tasks = new Semaphore(1)',
        replace: 'readonly #tasks = new Semaphore(9)',
      },
    ],
  },
  {
    file: 'src/codec/body-differences.ts',
    killedBy: ['src/codec/body-differences.test.ts'],
    mutants: [
      {
        breaks: 'only the first twenty differences are listed',
        find: 'if (differences.length === differenceCountMax) break',
        replace: '',
      },
    ],
  },
]
