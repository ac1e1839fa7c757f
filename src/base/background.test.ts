/** Work in the background: no failure of it, of whatever kind, reaches anything but the channel. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { backgroundFailureChannel, inBackground } from './background.js'

function listen(): unknown[] {
  const failures: unknown[] = []
  const onFailure = (failure: unknown): void => {
    failures.push(failure)
  }
  backgroundFailureChannel.subscribe(onFailure)
  onTestFinished(() => {
    backgroundFailureChannel.unsubscribe(onFailure)
  })
  return failures
}

const error = new Error('it failed')

test.each([
  ['a promise that rejects', () => Promise.reject(error)],
  ['a function whose promise rejects', () => () => Promise.reject(error)],
  [
    'a function that throws',
    () => () => {
      throw error
    },
  ],
])('the failure of %s is published with its name', async (_, work) => {
  const failures = listen()
  inBackground('shutdown', work())
  await vi.waitUntil(() => failures.length > 0)
  expect(failures).toEqual([{ name: 'shutdown', error }])
})

test('a function begins in the same turn, and what it returns is ignored', () => {
  const calls: string[] = []
  inBackground('shutdown', () => calls.push('called'))
  expect(calls).toEqual(['called'])
})

test('without a subscriber a failure is printed', async () => {
  const print = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  onTestFinished(() => print.mockRestore())
  inBackground('shutdown', Promise.reject(error))
  await vi.waitUntil(() => print.mock.calls.length > 0)
  expect(print.mock.calls).toEqual([['understudy: shutdown failed:', error]])
})
