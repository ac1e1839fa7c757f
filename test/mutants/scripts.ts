/** Mutants of the scripts and of the launcher. */
import type { MutantGroup } from './mutant.js'

export const scriptsMutants: readonly MutantGroup[] = [
  {
    file: 'scripts/build.mjs',
    killedBy: ['test/build.test.ts'],
    mutants: [
      {
        breaks: 'sources in all folders count',
        find: '{ recursive: true })\n    .filter',
        replace: '{})\n    .filter',
      },
      {
        breaks: 'a change of the dependencies is a change of the build',
        find: "'package-lock.json',",
        replace: '',
      },
      { breaks: 'a build that fails leaves the last one', find: 'process.exit(1)', replace: 'return' },
      {
        breaks: 'a build is stamped with its sources',
        find: 'writeFileSync(stampFile, hash)',
        replace: "writeFileSync(stampFile, '')",
      },
    ],
  },
  {
    file: 'scripts/build-native.mjs',
    killedBy: ['test/build.test.ts'],
    mutants: [
      {
        breaks: 'the error of the compiler is the reason of a failure',
        find: 'resolve(lines.find((line) => words.test(line))?.trim() ?? `',
        replace: 'resolve(`',
      },
      {
        breaks: 'a compilation that failed is tried again',
        find: '} else if (isNeeded) {\n  writeFileSync(stampFile, hash)',
        replace: '}\nif (isNeeded) {\n  writeFileSync(stampFile, hash)',
      },
      {
        breaks: 'an edit of a header is an edit of the addon',
        find: '/\\.(cc|h)$/',
        replace: '/\\.cc$/',
      },
      {
        breaks: 'a compilation leaves the addon that is there',
        find: "'configure', 'build', '--silent'",
        replace: "'rebuild', '--silent'",
      },
    ],
  },
  {
    file: 'scripts/dependencies.mjs',
    killedBy: ['test/dependencies.test.ts'],
    mutants: [
      {
        breaks: 'an entry without a strong hash is found',
        find: "if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? ''))",
        replace: "if (!/^sha/.test(entry.integrity ?? 'sha'))",
      },
      {
        breaks: 'an entry from elsewhere is found',
        find: '!entry.resolved.startsWith(registry)',
        replace: "entry.resolved.startsWith('http:')",
      },
    ],
  },
  {
    file: 'bin/understudy',
    killedBy: ['src/cli/launcher.test.ts'],
    mutants: [
      {
        breaks: 'the launcher replaces itself with the program, so that signals reach it',
        find: 'exec "$node"',
        replace: '"$node"',
      },
      {
        breaks: 'relative links are followed',
        find: '*) self=$(dirname "$self")/$target ;;',
        replace: '*) self=$target ;;',
      },
      {
        breaks: 'arguments with spaces stay whole',
        find: '"$root/dist/cli/main.js" "$@"',
        replace: '"$root/dist/cli/main.js" $@',
      },
    ],
  },
]
