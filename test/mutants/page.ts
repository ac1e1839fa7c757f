/** Mutants of src/page: what its functions without a browser compute. */
import type { MutantGroup } from './mutant.js'

export const pageMutants: readonly MutantGroup[] = [
  {
    file: 'src/page/format.ts',
    killedBy: ['test/page/text.test.ts'],
    mutants: [
      { breaks: 'times are those of Korea', find: "'Asia/Seoul'", replace: "'UTC'" },
      {
        breaks: 'a time that lies ahead is not in the past',
        find: 'return ms < -minuteMs / 60 ?',
        replace: 'return ms < -Infinity ?',
      },
      { breaks: 'a duration of 60 s is a minute', find: 'if (seconds < 60)', replace: 'if (seconds <= 60)' },
      {
        breaks: 'large numbers keep three significant digits',
        find: '(value / 1e3).toFixed(size < 1e5 ? 1 : 0)',
        replace: '(value / 1e3).toFixed(0)',
      },
    ],
  },
  {
    file: 'src/page/parts/plain-text.ts',
    killedBy: ['test/page/text.test.ts'],
    mutants: [
      { breaks: 'scripts are no text', find: ".replace(hidden, '')", replace: '' },
      { breaks: 'a line end in HTML ends a line', find: ".replace(lineEnds, '\\n')", replace: '' },
      {
        breaks: 'a reference to half a surrogate pair stays',
        find: ' && !(code >= 0xd800 && code <= 0xdfff)',
        replace: '',
      },
    ],
  },
]
