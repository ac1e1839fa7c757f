/**
 * All commands with the examples of their help pages. `program.ts` builds the program from this table.
 */
import type { Command } from 'commander'
import { addBackupCommand } from './store/backup-command.js'
import { addCheckCommand } from './history/check-command.js'
import { addConfigCommand } from './settings/config-command.js'
import type { CommandContext } from './context.js'
import { addDemoCommand } from './simulate/demo-command.js'
import { addExplainCommand } from './history/explain-command.js'
import { addExportCommand, addSqlCommand } from './history/export-command.js'
import { addJournalCommand } from './store/journal-command.js'
import { addModelsCommand } from './models/index.js'
import { addOpenApiCommand } from './openapi-command.js'
import { addPoolCommand } from './history/pool-command.js'
import { addReportCommand } from './history/report-command.js'
import { addRestoreCommand } from './store/restore-command.js'
import { addServeCommand } from './serve/serve-command.js'
import { addSimulateCommand } from './simulate/simulate-command.js'
import { addStatusCommand } from './serve/status-command.js'
import { addUpgradeCommand } from './store/upgrade-command.js'
import { addVerifyCommand } from './store/verify-command.js'

type AddCommand = (program: Command, context: CommandContext) => void

/** Ordered as on the help page. */
const commandTable: readonly AddCommand[] = [
  addServeCommand,
  addStatusCommand,
  addDemoCommand,
  addSimulateCommand,
  addModelsCommand,
  addPoolCommand,
  addReportCommand,
  addExplainCommand,
  addExportCommand,
  addSqlCommand,
  addCheckCommand,
  addConfigCommand,
  addOpenApiCommand,
  addBackupCommand,
  addRestoreCommand,
  addVerifyCommand,
  addUpgradeCommand,
  addJournalCommand,
]

/** Arguments of example calls, by command; '' is the program. A test checks their flags. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  '': ['demo', 'serve', 'simulate', 'models list'],
  serve: ['', '--port 9000 --data-dir /var/lib/understudy --log-level warn'],
  status: ['', '--watch', '--url http://127.0.0.1:9001 --json'],
  demo: ['', '--hours 3 --port 0'],
  simulate: ['--hours 1', '--url http://127.0.0.1:9000 --speed 300 --seed 7 --json'],
  models: ['list', 'verify head-2026-03'],
  'models list': ['', '--models-dir /srv/models --json'],
  'models init': [
    'models/head-2026-03',
    'models/head-2026-03 --features train.csv --golden from-training.json',
  ],
  'models verify': ['', 'head-2026-03'],
  'models inspect': ['head-2026-03', 'model.onnx --json'],
  'models embed': [
    "head-2026-03 --text '오늘 진짜 대박' --image photo.jpg",
    "head-2026-03 --text 제목 --body '<p>본문</p>' --json",
  ],
  'models golden': ['head-2026-03 --cycle 20260302T1205 --cases 50'],
  'models activate': ['head-2026-03'],
  'models shadow': ['head-2026-04', '--none'],
  'models compare': ['head-2026-03 head-2026-04 --cycles 288'],
  'models features': ['', '--json'],
  'models matrix': ['--from 20260301T0005 --to 20260302T0000 --out features.csv'],
  'models schema': ['', '> manifest.schema.json'],
  pool: ['', '--digest --data-dir /var/lib/understudy', '--cycle 20260302T1205 --json'],
  report: [
    '',
    '--from 2026-03-01 --to 2026-03-14 --html report.html',
    '--models head-2026-03,head-2026-04 --json',
  ],
  explain: ['humor 1012635', 'humor 1012635 --cycle 20260302T1205 --against 20260302T1100 --json'],
  export: ['/srv/export', '/srv/export --from 2026-03-01 --to 2026-03-07 --features'],
  sql: ["'select count(*) from cycles'", "'select * from visits limit 5' --export /srv/export --json"],
  check: [
    'cycle.json',
    'cycle-1205.json cycle-1210.json.gz --data-dir /var/lib/understudy',
    'outcomes.json --kind outcomes --json',
  ],
  config: ['', '--config understudy.json --json'],
  openapi: ['', '> openapi.json'],
  backup: ['/backups/understudy-2026-03-02', '--data-dir /var/lib/understudy /backups/today'],
  restore: ['/backups/understudy-2026-03-02 --data-dir /var/lib/understudy'],
  verify: ['', '--data-dir /var/lib/understudy --all-images'],
  upgrade: ['--check', '--data-dir /var/lib/understudy --json'],
  journal: ['migrate', 'create rehearsal', 'status'],
  'journal migrate': ['', '--config /etc/understudy.json --json'],
  'journal create': ['rehearsal'],
  'journal status': ['', '--json'],
  'journal detach': ['--data-dir /var/lib/understudy'],
  'journal import': ['--data-dir /var/lib/understudy --environment rehearsal'],
  'journal export': ['/srv/understudy-copy --environment rehearsal'],
}

/** Adds all commands to the program, with the examples on their help pages. */
export function addCommands(program: Command, context: CommandContext): void {
  for (const add of commandTable) add(program, context)
  for (const [name, lines] of Object.entries(examples)) {
    const command = findCommand(program, name)
    const calls = lines.map((line) => `  understudy ${`${name} ${line}`.trim()}\n`)
    command?.addHelpText('after', `\nExamples:\n${calls.join('')}`)
  }
}

/** The command with a name such as `models list`. */
export function findCommand(program: Command, name: string): Command | undefined {
  return name
    .split(' ')
    .filter((word) => word !== '')
    .reduce<Command | undefined>(
      (parent, word) => parent?.commands.find((command) => command.name() === word),
      program,
    )
}
