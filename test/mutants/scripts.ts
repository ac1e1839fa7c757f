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
        breaks: 'an entry from another registry is found',
        find: '!entry.resolved.startsWith(registry)',
        replace: "entry.resolved.startsWith('http:')",
      },
    ],
  },
  {
    file: 'scripts/bundle-launcher.c',
    killedBy: ['test/bundle-programs.test.ts'],
    mutants: [
      {
        breaks: 'the launcher finds its bundle through symlinks',
        find: 'realpath(called, NULL)',
        replace: 'strdup(called)',
      },
      {
        breaks: 'all arguments are passed on',
        find: 'arguments + 3, argv + 1',
        replace: 'arguments + 3, argv + 2',
      },
      {
        breaks: 'system programs take precedence',
        find: "joined(path, ':', directory)",
        replace: "joined(directory, ':', path)",
      },
    ],
  },
  {
    file: 'scripts/bundle-flock.c',
    killedBy: ['test/bundle-programs.test.ts'],
    mutants: [
      {
        breaks: 'a lock is exclusive',
        find: 'LOCK_EX | LOCK_NB',
        replace: 'LOCK_SH | LOCK_NB',
      },
      {
        breaks: 'only a lock of another process is status 1',
        find: 'if (errno == EWOULDBLOCK) return 1;',
        replace: 'return 1;',
      },
    ],
  },
  {
    file: 'scripts/bundle-contents.mjs',
    killedBy: ['test/bundle-contents.test.ts'],
    mutants: [
      {
        breaks: 'hidden files of packages stay out',
        find: '(\\..*|tests?',
        replace: '(tests?',
      },
      {
        breaks: 'Node finds the nearest package of a name',
        find: 'resolve(packages, from, dependency)',
        replace: "resolve(packages, '', dependency)",
      },
      {
        breaks: 'the addon is the one for the ABI of the bundled Node',
        find: '`node.abi${abi}.glibc.node`, ',
        replace: '',
      },
      {
        breaks: 'models that git does not track stay out',
        find: "'ls-files', '-z',",
        replace: "'ls-files', '-z', '--cached', '--others',",
      },
      {
        breaks: 'a package without a licence text stops the build',
        find: 'throw new Error(`${name} has no licence text: add one to scripts/licences`)',
        replace: "return ''",
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
        breaks: 'npm installs Node next to a package that another project depends on',
        find: 'for packages in "$root/.." "$root/node_modules"; do',
        replace: 'for packages in "$root/node_modules"; do',
      },
      {
        breaks: 'a server needs more address space than other commands',
        find: 'serve | demo) needed=1088 ;;',
        replace: 'serve) needed=1088 ;;',
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
