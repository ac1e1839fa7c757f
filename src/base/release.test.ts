import { expect, test } from 'vitest'
import { ignoringErrors, withRelease } from './release.js'

function fail(message: string): () => Promise<never> {
  return () => Promise.reject(new Error(message))
}

test('what work has used is released before its result is known', async () => {
  const steps: string[] = []
  const work = (): string => {
    steps.push('work')
    return 'result'
  }
  const release = async (): Promise<void> => {
    await Promise.resolve()
    steps.push('release')
  }
  expect(await withRelease(work, release)).toBe('result')
  expect(steps).toEqual(['work', 'release'])
})

test('work that fails is released, and its error is the one that is reported', async () => {
  let released = 0
  const release = (): void => {
    released++
    throw new Error('release')
  }
  await expect(withRelease(fail('work'), release)).rejects.toThrow('work')
  expect(released).toBe(1)
})

test('a release that fails is an error only if the work succeeded', async () => {
  await expect(withRelease(() => 'result', fail('release'))).rejects.toThrow('release')
  await expect(ignoringErrors(fail('release'))).resolves.toBeUndefined()
})
