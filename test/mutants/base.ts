/** Mutants of src/base. */
import type { MutantGroup } from './mutant.js'

export const baseMutants: readonly MutantGroup[] = [
  {
    file: 'src/base/background.ts',
    killedBy: ['src/base/background.test.ts'],
    mutants: [
      {
        breaks: 'a failure in the background is published',
        find: '      publish({ name, error })\n',
        replace: '      String(error)\n',
      },
      {
        breaks: 'without a subscriber a failure in the background is printed',
        find: 'else console.error(',
        replace: 'else String(',
      },
    ],
  },
]
