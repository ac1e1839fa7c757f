/**
 * `understudy models`: the subcommands that list, verify, inspect, activate and compare model packages, record golden
 * cases and export training data.
 */
import type { Command } from 'commander'
import { manifestSchemaText } from '../../model/index.js'
import { addSettingFlags, numberArgument, type CommandContext } from '../context.js'
import { activate, shadow } from './choose.js'
import { compare } from './compare.js'
import { listFeatures, writeMatrix } from './features.js'
import { recordGoldenCases } from './golden.js'
import { inspect } from './inspect.js'
import { list } from './list.js'
import { modelSettings, modelSettingNames, sessionSettingNames, type Flags } from './settings.js'
import { verify } from './verify.js'

export function addModelsCommand(program: Command, context: CommandContext): void {
  const models = program.command('models').description('list, verify, inspect and activate model packages')
  addList(models, context)
  addVerify(models, context)
  addInspect(models, context)
  addGolden(models, context)
  addChoices(models, context)
  addCompare(models, context)
  addFeatures(models, context)
  models
    .command('schema')
    .description('print the JSON schema of manifest.json')
    .action(() => context.print(manifestSchemaText()))
}

function addList(models: Command, context: CommandContext): void {
  addSettingFlags(models.command('list', { isDefault: true }), modelSettingNames)
    .description(
      'list the packages and which of them ACTIVE and SHADOW name; reads manifests, and neither hashes nor runs anything',
    )
    .option('--json', 'as JSON')
    .action((flags: Flags) => list(modelSettings(flags, context), flags, context))
}

function addVerify(models: Command, context: CommandContext): void {
  addSettingFlags(models.command('verify [version]'), sessionSettingNames)
    .description('check a package, or the active one: files, graphs, golden cases, extremes, batches, cost')
    .option(
      '--provider <name>',
      'let this execution provider serve, and compare its outputs with those on the CPU',
    )
    .option('--tolerance <difference>', 'for that comparison (default: 0.001)', numberArgument)
    .option('--json', 'as JSON')
    .action((version: string | undefined, flags: Flags) =>
      verify(version, modelSettings(flags, context), flags, context),
    )
}

function addInspect(models: Command, context: CommandContext): void {
  addSettingFlags(models.command('inspect [subject]'), modelSettingNames)
    .description(
      'show what is in a package, in the active one, or in a file that ends in .onnx: inputs, outputs, operator ' +
        'sets, sizes, SHA-256',
    )
    .option('--json', 'as JSON')
    .action((subject: string | undefined, flags: Flags) =>
      inspect(subject, modelSettings(flags, context), flags, context),
    )
}

function addGolden(models: Command, context: CommandContext): void {
  addSettingFlags(models.command('golden <version>'), [...sessionSettingNames, 'dataDir', 'codec'])
    .description(
      'record golden cases from a stored cycle into the package, and print the lines for its manifest',
    )
    .requiredOption('--cycle <id>', 'cycle_id of a stored cycle with scored posts')
    .option('--cases <count>', 'how many of its posts', numberArgument, 20)
    .option('--force', 'replace a file of golden cases that is there')
    .action((version: string, flags: Flags) =>
      recordGoldenCases(version, modelSettings(flags, context), flags, context),
    )
}

function addChoices(models: Command, context: CommandContext): void {
  addSettingFlags(models.command('activate <version>'), [...sessionSettingNames, 'dataDir'])
    .description('verify a package and let it serve; a server that runs switches to it between two cycles')
    .action((version: string, flags: Flags) =>
      activate(version, modelSettings(flags, context), flags, context),
    )
  addSettingFlags(models.command('shadow [versions...]'), [...sessionSettingNames, 'dataDir'])
    .description('verify packages and let them score every cycle beside the one that serves')
    .option('--none', 'let none')
    .action((versions: string[], flags: Flags) =>
      shadow(versions, modelSettings(flags, context), flags, context),
    )
}

function addCompare(models: Command, context: CommandContext): void {
  addSettingFlags(models.command('compare <first> <second>'), [...sessionSettingNames, 'dataDir', 'codec'])
    .description('compare what two models say of the same posts of stored cycles; the server may run')
    .option('--cycles <count>', 'the last so many cycles (default: 12)', numberArgument)
    .option('--from <id>', 'cycle_id of the first cycle instead')
    .option('--to <id>', 'cycle_id of the last one (default: the last of all)')
    .option('--json', 'as JSON')
    .action((first: string, second: string, flags: Flags) =>
      compare([first, second], modelSettings(flags, context), flags, context),
    )
}

function addFeatures(models: Command, context: CommandContext): void {
  models
    .command('features')
    .description('list the catalogue: every feature that a manifest may name, with its formula')
    .option('--json', 'as JSON')
    .action((flags: Flags) => listFeatures(flags, context))
  addSettingFlags(models.command('matrix'), ['dataDir', 'codec'])
    .description('write the features of stored cycles to a CSV file, to train on what the model will see')
    .requiredOption('--from <id>', 'cycle_id of the first cycle')
    .option('--to <id>', 'cycle_id of the last one (default: the first)')
    .requiredOption('--out <file>', 'the CSV file; it must not be there')
    .option('--features <names>', 'features in this order, separated by commas (default: all)')
    .option('--missing <how>', 'imputed, or nan for empty cells where a value is missing (default: imputed)')
    .action((flags: Flags) => writeMatrix(modelSettings(flags, context), flags, context))
}
