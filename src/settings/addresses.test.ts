/** Addresses as people and clients see them. */
import { expect, test } from 'vitest'
import { authorityOf, isLoopback, localUrl } from './addresses.js'

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
