/** Mutants of src/images. */
import type { MutantGroup } from './mutant.js'

export const imagesMutants: readonly MutantGroup[] = [
  {
    file: 'src/images/intake.ts',
    killedBy: ['src/images/intake.test.ts'],
    mutants: [
      {
        breaks: 'an image of exactly 50,000,000 pixels is accepted',
        find: 'width * height > imagePixelsMax',
        replace: 'width * height >= imagePixelsMax',
      },
      {
        breaks: 'a small image is not enlarged',
        find: 'withoutEnlargement: true',
        replace: 'withoutEnlargement: false',
      },
      {
        breaks: 'the size of an image is that after its orientation',
        find: 'return { width: autoOrient.width, height: autoOrient.height }',
        replace: 'return { width, height }',
      },
      {
        breaks: 'a decode that times out is not an error of the image',
        find: "if (reason.startsWith('timeout: '))",
        replace: "if (reason === 'timeout: ')",
      },
    ],
  },
  {
    file: 'src/images/image-semaphore.ts',
    killedBy: ['src/images/image-semaphore.test.ts'],
    mutants: [
      {
        breaks: 'at most the limit is processed at a time',
        find: 'if (this.#activeCount < this.#activeCountMax) this',
        replace: 'if (this.#activeCount <= this.#activeCountMax) this',
      },
      {
        breaks: 'bytes that no longer wait are not counted',
        find: 'this.#waitingBytes -= heldBytes',
        replace: '',
      },
      { breaks: 'sixteen uploads may always wait', find: 'waitingCount >= waitingCountMin &&', replace: '' },
    ],
  },
]
