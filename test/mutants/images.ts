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
        find: "error.message.startsWith('timeout: ')",
        replace: "error.message === 'timeout: '",
      },
    ],
  },
  {
    file: 'src/images/intake.ts',
    killedBy: ['src/images/harmless-defects.test.ts'],
    mutants: [
      {
        breaks: 'damage to the first of several pictures is refused',
        find: "sharp.block({ operation: ['VipsForeignLoadUhdr'] })",
        replace: '',
      },
      {
        breaks: 'a repaired image is decoded without any warning',
        find: "failOn: 'warning'",
        replace: "failOn: 'error'",
      },
    ],
  },
  {
    file: 'src/images/jpeg-repair.ts',
    killedBy: ['src/images/harmless-defects.test.ts'],
    mutants: [
      {
        breaks: 'every scan of a sequential image is repaired',
        find: 'if (code === codes.startOfScan) at = keepScan(',
        replace: 'if (code === codes.startOfScan) return copy; else if (code === 0) at = keepScan(',
      },
      {
        breaks: 'spectral selection of a progressive scan is kept',
        find: 'frame?.isProgressive === false',
        replace: 'frame !== null',
      },
      {
        breaks: 'a zero that follows 0xff belongs to it',
        find: 'return from > start && bytes[from - 1] === 0xff ? from + 1 : from',
        replace: 'return from',
      },
      {
        breaks: 'coded data may end with a few equal bytes',
        find: 'return end - from < repeatedBytesMin ? end : from',
        replace: 'return from',
      },
      {
        breaks: 'fill bytes count as segments',
        find: 'at = code === 0xff ? at + 1 : segmentEnd(bytes, at)',
        replace: 'at = code === 0xff ? at + 1 + 0 * count-- : segmentEnd(bytes, at)',
      },
    ],
  },
  {
    file: 'src/images/image-semaphore.ts',
    killedBy: ['src/images/image-semaphore.test.ts'],
    mutants: [
      {
        breaks: 'at most the limit is processed at a time',
        find: 'new Semaphore(activeCountMax)',
        replace: 'new Semaphore(activeCountMax + 1)',
      },
      {
        breaks: 'bytes that no longer wait are not counted',
        find: 'this.#waitingBytes -= waitingBytes',
        replace: '',
      },
      { breaks: 'sixteen uploads may always wait', find: 'waitingCount >= waitingCountMin &&', replace: '' },
    ],
  },
]
