/** Why a port cannot be opened. */
import { expect, test } from 'vitest'
import { portProblem } from './port-check.js'

const failure = (code: string): Error => Object.assign(new Error(code), { code })

test.each([
  ['EACCES', '', 'cannot listen on a:80: this user may not use the port; choose another one with --port'],
  [
    'EACCES',
    'admin-',
    'cannot listen on a:80: this user may not use the port; choose another one with --admin-port',
  ],
  [
    'ENOTFOUND',
    '',
    'cannot listen on a:80: the name of the host has no address; choose another one with --host',
  ],
  [
    'ENOTFOUND',
    'admin-',
    'cannot listen on a:80: the name of the host has no address; choose another one with --admin-host',
  ],
  ['EOTHER', '', 'cannot listen on a:80: EOTHER'],
])('%s of the listener with the flags --%sport', (code, prefix, message) => {
  expect(portProblem(failure(code), 'a', 80, prefix)).toEqual({ message, isTaken: false })
})
