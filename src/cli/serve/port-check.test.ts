/** Addresses as people and clients see them, and why a port cannot be opened. */
import { expect, test } from 'vitest'
import { authorityOf, isLoopback, localUrl, portProblem } from './port-check.js'

const failure = (code: string): Error => Object.assign(new Error(code), { code })

test('an IPv6 address has brackets before its port', () => {
  expect(['::1', 'fe80::1', '10.0.0.1', 'a.example'].map((host) => authorityOf(host, 80))).toEqual([
    '[::1]:80',
    '[fe80::1]:80',
    '10.0.0.1:80',
    'a.example:80',
  ])
})

test('a client on this machine reaches a listener on all addresses by the loopback one', () => {
  expect(['0.0.0.0', '::', '::1', '10.0.0.1'].map((host) => localUrl(host, 80, false))).toEqual([
    'http://127.0.0.1:80',
    'http://127.0.0.1:80',
    'http://[::1]:80',
    'http://10.0.0.1:80',
  ])
  expect(localUrl('127.0.0.1', 443, true)).toBe('https://127.0.0.1:443')
})

test('only this machine reaches loopback addresses', () => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.9.8.7', '::1', '::ffff:127.0.0.2'])
    expect(isLoopback(host), host).toBe(true)
  for (const host of [
    '0.0.0.0',
    '::',
    '128.0.0.1',
    '127.0.0.1.example.org',
    'localhost.example.org',
    '10.0.0.1',
  ])
    expect(isLoopback(host), host).toBe(false)
})

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
