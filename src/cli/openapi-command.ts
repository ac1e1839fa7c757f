/**
 * `understudy openapi`: prints the OpenAPI document of the service. `docs/openapi.json` is its output.
 */
import type { Command } from 'commander'
import { openApiDocument } from '../contract/index.js'
import type { CommandContext } from './context.js'

export function addOpenApiCommand(program: Command, context: CommandContext): void {
  program
    .command('openapi')
    .description('print the OpenAPI 3.1 document of the service')
    .action(() => context.print(`${JSON.stringify(openApiDocument(), null, 2)}\n`))
}
