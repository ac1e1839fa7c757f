/** The table of commands: every command has examples, and the examples use flags that exist. */
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { resolveWorkload } from '../simulator/index.js'
import { addCommands, examples, findCommand } from './commands.js'
import { processContext } from './context.js'

const program = new Command('understudy')
addCommands(program, processContext())

test('every help page has examples', () => {
  const names = program.commands.flatMap((command) => [
    command.name(),
    ...command.commands.map((child) => `${command.name()} ${child.name()}`),
  ])
  expect(['', ...names].filter((name) => !(name in examples))).toEqual([])
})

describe.each(Object.entries(examples))('the examples of %s', (name, lines) => {
  test('name a command and flags that it has', () => {
    const command = findCommand(program, name)
    const flags = lines.flatMap((line) => line.split(' ')).filter((word) => word.startsWith('--'))
    const known = command?.options.map(({ long }) => long) ?? []
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([])
    expect(command).toBeDefined()
  })
})

test('the flags of serve are in groups', () => {
  const help = findCommand(program, 'serve')?.helpInformation() ?? ''
  const headings = [...help.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual([
    ...[
      'Options',
      'Directories',
      'High availability',
      'Address, keys and TLS',
      'Admin listener',
      'Limits',
      'Models',
      'Expiry',
      'Log',
    ],
  ])
})

test('the help page of simulate has the defaults of the simulator', () => {
  const options = findCommand(program, 'simulate')?.options ?? []
  const defaultOf = (flag: string): unknown => {
    const option = options.find(({ long }) => long === flag)
    return option?.defaultValue ?? Number(/\(default: (\d+)\)/.exec(option?.description ?? '')?.[1])
  }
  const { identity, retryTimeoutMs } = resolveWorkload({})
  const { seed, hours, postsPerDay } = identity
  const flags = ['--seed', '--hours', '--posts-per-day', '--retry-timeout']
  expect(flags.map(defaultOf)).toEqual([seed, hours, postsPerDay, retryTimeoutMs / 1000])
})
