/** Mutants of src/cli and of the launcher. */
import type { MutantGroup } from './mutant.js'

export const cliMutants: readonly MutantGroup[] = [
  {
    file: 'src/cli/read-settings.ts',
    killedBy: ['src/cli/read-settings.test.ts'],
    mutants: [
      {
        breaks: 'an empty variable counts as absent',
        find: 'if (env[variable]) return',
        replace: 'if (env[variable] !== undefined) return',
      },
      {
        breaks: 'an unknown variable with the prefix is refused',
        find: "name.startsWith('UNDERSTUDY_') && !known.has(name)",
        replace: "name.startsWith('UNDERSTUDY_') && known.has(`${name}S`)",
      },
      {
        breaks: 'an unknown key of the file is refused',
        find: 'if (!known.has(key)) throw new UsageError(`unknown setting',
        replace: "if (key === '') throw new UsageError(`unknown setting",
      },
      {
        breaks: 'the error for a secret does not contain it',
        find: "const shown = secret === true ? '' :",
        replace: "const shown = secret !== true ? '' :",
      },
      {
        breaks: 'a path in the file is relative to the file',
        find: 'directory: dirname(file.path),',
        replace: 'directory,',
      },
      {
        breaks: 'settings are frozen',
        find: 'settings: Object.freeze({ ...settings',
        replace: 'settings: ({ ...settings',
      },
      {
        breaks: 'keys of two sources are combined without duplicates',
        find: 'Object.freeze([...new Set(apiKeys)])',
        replace: 'Object.freeze(apiKeys)',
      },
      {
        breaks: 'plain HTTP on an address that is not loopback is a warning',
        find: 'if (tlsCertFile === undefined && !isLoopback(host)) {',
        replace: 'if (tlsCertFile === undefined && isLoopback(host)) {',
      },
      {
        breaks: 'a secret that all users can read is a warning',
        find: '(statSync(path).mode & 0o007)',
        replace: '(statSync(path).mode & 0o002)',
      },
      {
        breaks: 'TLS files that cannot be used are refused',
        find: 'if (problem !== null)\n    throw new UsageError(',
        replace: 'if (problem === undefined)\n    throw new UsageError(',
      },
      {
        breaks: 'a byte order mark in the settings file gets a hint',
        find: 'if (encoding !== null) throw',
        replace: 'if (encoding === undefined) throw',
      },
    ],
  },
  {
    file: 'src/cli/tls-files.ts',
    killedBy: ['src/cli/tls-files.test.ts'],
    mutants: [
      {
        breaks: 'the certificate of the key comes first',
        find: 'if (index > 0)',
        replace: 'if (index > 9)',
      },
      {
        breaks: 'a key of another certificate is refused',
        find: 'if (index < 0)',
        replace: 'if (index < -1)',
      },
      {
        breaks: 'an encrypted key is named as such',
        find: 'if (encryptedPattern.test(pem))',
        replace: 'if (pem.length < 9)',
      },
    ],
  },
  {
    file: 'src/settings/kinds.ts',
    killedBy: ['src/cli/read-settings.test.ts'],
    mutants: [
      {
        breaks: 'the maximum of a setting is accepted',
        find: 'value >= minimum && value <= maximum',
        replace: 'value >= minimum && value < maximum',
      },
      {
        breaks: 'what exceeds the maximum of a setting is refused',
        find: 'value >= minimum && value <= maximum',
        replace: 'value >= minimum',
      },
      {
        breaks: 'a list has no duplicates',
        find: 'new Set(words).size === words.length',
        replace: 'new Set(words).size > 0',
      },
      {
        breaks: 'weights need one above 0',
        find: 'return views > 0 || comments > 0 || up > 0',
        replace: 'return views >= 0 || comments > 0 || up > 0',
      },
    ],
  },
  {
    file: 'src/cli/api-keys.ts',
    killedBy: ['src/cli/api-keys.test.ts'],
    mutants: [
      {
        breaks: 'only the owner can read a generated key',
        find: 'const ownerOnly = 0o600',
        replace: 'const ownerOnly = 0o644',
      },
      {
        breaks: 'a generated key is kept',
        find: 'if (existsSync(file)) return false',
        replace: 'if (!existsSync(dataDir)) return false',
      },
      {
        breaks: 'every key of a file is checked',
        find: '!given.every((key) => apiKeyPattern.test(key))',
        replace: '!given.some((key) => apiKeyPattern.test(key))',
      },
    ],
  },
  {
    file: 'src/cli/data-directory.ts',
    killedBy: ['src/cli/data-directory.test.ts'],
    mutants: [
      {
        breaks: 'a full disk is not a usage error',
        find: "new Set(['ENOSPC', 'EDQUOT'",
        replace: "new Set(['EDQUOT'",
      },
    ],
  },
  {
    file: 'src/cli/text-table.ts',
    killedBy: ['src/cli/text-table.test.ts'],
    mutants: [
      { breaks: 'a Hangul syllable takes two cells', find: 'wide.test(point) ? 2 : 1', replace: '1' },
      {
        breaks: 'no control character of a cell reaches the terminal',
        find: "texts.map((row) => row.map((text) => text.replace(control, ' ')))",
        replace: 'texts',
      },
      {
        breaks: 'the ellipsis of a cut text takes a cell',
        find: 'let cells = 1\n  let kept',
        replace: 'let cells = 0\n  let kept',
      },
    ],
  },
  {
    file: 'src/cli/format.ts',
    killedBy: ['src/cli/format.test.ts'],
    mutants: [
      {
        breaks: 'a span of two hours is in hours',
        find: 'value >= 120',
        replace: 'value > 120',
      },
    ],
  },
  {
    file: 'src/cli/progress-display.ts',
    killedBy: ['src/cli/progress-display.test.ts'],
    mutants: [
      {
        breaks: 'an outage is shown immediately',
        find: 'if (this.#outageSinceMs === null) this.#shownAtMs = -Infinity',
        replace: '',
      },
    ],
  },
  {
    file: 'src/cli/settings-report.ts',
    killedBy: ['src/cli/settings-report.test.ts'],
    mutants: [
      {
        breaks: 'a report has no key',
        find: 'sha256: settings.apiKeys.map(fingerprintOf)',
        replace: 'sha256: settings.apiKeys',
      },
    ],
  },
  {
    file: 'src/cli/models/activate.ts',
    killedBy: ['src/cli/models/activate.test.ts'],
    mutants: [
      {
        breaks: 'a version is verified before it is active',
        find: 'await requireVerified(loadOptions(version, settings, context), context)\n  await checkIdentities([version]',
        replace: 'await checkIdentities([version]',
      },
      {
        breaks: 'the active version is not a shadow',
        find: 'if (active !== null && versions.includes(active))',
        replace: "if (active === null && versions.includes(''))",
      },
    ],
  },
]
