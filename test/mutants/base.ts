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
  {
    file: 'src/base/processes.ts',
    killedBy: ['src/base/processes.test.ts'],
    mutants: [
      {
        breaks: 'a child has no variables that hold secrets',
        find: '!privateNames.test(name)',
        replace: 'name !== privateNames.source',
      },
    ],
  },
  {
    file: 'src/base/semaphore.ts',
    killedBy: ['src/base/semaphore.test.ts'],
    mutants: [
      {
        breaks: 'a caller that is aborted leaves the queue',
        find: 'this.#waiting.splice(this.#waiting.indexOf(start), 1)\n',
        replace: '',
      },
      { breaks: 'the permit passes to the next caller', find: 'else start()', replace: '' },
    ],
  },
]
