/** The table of commands: every command has examples, and the examples use flags that exist. */
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { addCommands, examples, findCommand } from './commands.js'
import { processContext } from './context.js'

const program = new Command('understudy')
addCommands(program, processContext())

test('every command has examples, apart from the schema of the manifest', () => {
  const names = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((child) => `${command.name()} ${child.name()}`),
  )
  expect(names.filter((name) => !(name in examples))).toEqual(['models schema'])
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
