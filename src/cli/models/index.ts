/**
 * `understudy models`: the subcommands that list, draft, verify, inspect, activate and compare model packages, print vectors,
 * record golden cases and export training data.
 */
import { Option, type Command } from 'commander'
import { manifestSchemaText } from '../../model/index.js'
import { addSettingFlags, integerArgument, numberArgument, type CommandContext } from '../context.js'
import type { Flags } from '../settings/read-settings.js'
import type { SettingName } from '../../settings/index.js'
import { activate, shadow } from './activate.js'
import { historySettingNames, sessionSettingNames } from '../../history/index.js'
import { compare, comparedCyclesMax, type CompareFlags } from './compare.js'
import { embed, type EmbedFlags } from './embed.js'
import { listFeatures, writeMatrix, type MatrixFlags } from './features.js'
import { goldenCasesMax, recordGoldenCases, type GoldenFlags } from './golden.js'
import { init, type InitFlags } from './init.js'
import { inspect } from './inspect.js'
import { list } from './list.js'
import { verify } from './verify.js'

export function addModelsCommand(program: Command, context: CommandContext): void {
  const models = program.command('models').description('list, verify, inspect and activate model packages')
  const add = (usage: string, settings: readonly SettingName[], isDefault = false): Command =>
    addSettingFlags(models.command(usage, { isDefault }), settings)
  addPackageCommands(add, context)
  addEncoderCommand(add, context)
  addRoleCommands(add, context)
  addHistoryCommands(add, context)
  models
    .command('features')
    .description('list every feature that a manifest may name, with its formula')
    .option('--json', 'print JSON')
    .action((flags: Flags) => listFeatures(flags, context))
  models
    .command('schema')
    .description('print the JSON schema of manifest.json')
    .action(() => context.print(manifestSchemaText()))
}

type Add = (usage: string, settings: readonly SettingName[], isDefault?: boolean) => Command

function addPackageCommands(add: Add, context: CommandContext): void {
  add('list', ['modelsDir', 'dataDir'], true)
    .description(
      'list the packages, the versions in ACTIVE and SHADOW, and what a running server does with them; reads only the ' +
        'manifests',
    )
    .option('--json', 'print JSON')
    .action((flags: Flags) => list(flags, context))
  add('init <directory>', sessionSettingNames)
    .description(
      'draft the manifest of a package from its files: graphs, tokenizer, preprocessing, feature names',
    )
    .option(
      '--features <source>',
      'features in the order of the columns: a CSV, text or JSON file, or names separated by commas',
    )
    .option(
      '--golden <file>',
      'take golden cases of the training, as golden_cases.py writes them; into an existing manifest too',
    )
    .option('--force', 'draft again, and overwrite manifest.json')
    .option('--json', 'print JSON')
    .action((directory: string, flags: InitFlags) => init(directory, flags, context))
  add('verify [version]', sessionSettingNames)
    .description(
      'verify a package, by default the active one: files, graphs, golden cases, limits, batches, cost',
    )
    .option(
      '--provider <name>',
      'run on this execution provider and compare its outputs with those of the CPU',
    )
    .option('--tolerance <difference>', 'largest difference from the CPU (default: 0.001)', numberArgument)
    .option('--json', 'print JSON')
    .action((version: string | undefined, flags: Flags) => verify(version, flags, context))
  add('inspect [subject]', ['modelsDir'])
    .description(
      'show the contents of a package, by default the active one, or of an .onnx file: inputs, outputs, sizes, SHA-256',
    )
    .option('--json', 'print JSON')
    .action((subject: string | undefined, flags: Flags) => inspect(subject, flags, context))
}

function addEncoderCommand(add: Add, context: CommandContext): void {
  const listed = (value: string, values: readonly string[]): string[] => [...values, value]
  add('embed <version>', sessionSettingNames)
    .description(
      'print the vectors of texts and images, with token ids and statistics of the pixels, as the service computes them',
    )
    .option('--text <title>', 'title of a post; may be repeated', listed, [])
    .option('--body <html>', 'body_html of these posts (default: none)')
    .option('--image <file>', 'a JPEG file, as a client uploads it; may be repeated', listed, [])
    .option('--json', 'print JSON')
    .action((version: string, flags: EmbedFlags) => embed(version, flags, context))
}

function addRoleCommands(add: Add, context: CommandContext): void {
  add('activate <version>', [...sessionSettingNames, 'dataDir'])
    .description(
      'verify a package and make it the active one; a running server switches to it between two cycles',
    )
    .option('--wait', 'wait until the server of --data-dir serves this version or fails to load it')
    .action((version: string, flags: Flags) => activate(version, flags, context))
  add('shadow [versions...]', [...sessionSettingNames, 'dataDir'])
    .description('verify packages and make them the shadow models, which score each cycle after its response')
    .option('--none', 'remove all shadow models')
    .action((versions: string[], flags: Flags) => shadow(versions, flags, context))
}

function addHistoryCommands(add: Add, context: CommandContext): void {
  add('golden <version>', historySettingNames)
    .description(
      'write golden cases from a stored cycle into a package, and print the lines for its manifest',
    )
    .requiredOption('--cycle <id>', 'cycle_id of a stored cycle with scored posts')
    .option('--cases <count>', 'number of cases', integerArgument(1, goldenCasesMax), 20)
    .option('--force', 'overwrite an existing file of golden cases')
    .action((version: string, flags: GoldenFlags) => recordGoldenCases(version, flags, context))
  add('compare <first> <second>', historySettingNames)
    .description('compare the scores of two models for the posts of stored cycles; the server may be running')
    .addOption(
      new Option('--cycles <count>', 'number of latest cycles (default: 12)')
        .argParser(integerArgument(1, comparedCyclesMax))
        .conflicts('from'),
    )
    .option('--from <id>', 'cycle_id of the first cycle, instead of --cycles')
    .option('--to <id>', 'cycle_id of the last cycle (default: the latest)')
    .option('--json', 'print JSON')
    .action((first: string, second: string, flags: CompareFlags) => compare([first, second], flags, context))
  add('matrix', ['dataDir'])
    .description('write the features of stored cycles to a CSV file for training')
    .requiredOption('--from <id>', 'cycle_id of the first cycle')
    .option('--to <id>', 'cycle_id of the last cycle (default: the first)')
    .requiredOption('--out <file>', 'the CSV file; it must not exist')
    .option('--features <names>', 'features in this order, separated by commas (default: all)')
    .addOption(
      new Option('--missing <how>', '`nan` writes an empty cell if a value is missing')
        .choices(['imputed', 'nan'])
        .default('imputed'),
    )
    .action((flags: MatrixFlags) => writeMatrix(flags, context))
}
