// What a bundle contains: the files of this project and of the packages that it needs at run time, for one platform.
// Packages come from package-lock.json, so that nothing else in node_modules gets in.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const addonFile = 'build/Release/understudy_codec.node'

/** Packages that only a build needs: headers, and Node, whose program is copied to bin/node. */
const buildOnly = /^(node-addon-api|simdjson|node-(linux|bin-darwin)-\w+)$/

/**
 * Packages that list more dependencies than they load at run time, with those that they do load. The rest of typia's are
 * for its compiler, the rest of onnxruntime-node's for its installation.
 */
const loadedOf = {
  typia: ['@typia/interface'],
  '@typia/interface': [],
  'onnxruntime-node': ['onnxruntime-common'],
}

/** Files that a program loads. Sources, types, maps and documentation of packages stay out. */
const loadable = /\.([mc]?js|json|node)$|\.so(\.\d+)*$/
const unusedDirectories =
  /(^|\/)(\..*|tests?|__tests__|__snapshots__|examples?|benchmarks?|bench|docs?|man|scripts?)\//

/** Which of these files are for a platform, by package. */
const isFor = {
  typia: (file) => !file.endsWith('.js'),
  'onnxruntime-node': (file, { platform, arch }) =>
    !file.startsWith('bin/') || file.includes(`/${platform}/${arch}/`),
  tokenizers: (file, { platform, arch }) =>
    !file.endsWith('.node') || file === `tokenizers.${platform}-${arch}-gnu.node`,
  'uWebSockets.js': (file, { platform, arch, abi }) =>
    !file.startsWith('dist/bin/') || file.endsWith(`uws_${platform}_${arch}_${abi}.node`),
}

/** Prebuilt addons for other ABIs or another C library, in packages that have one for each. */
const prebuilt = /^node\.(abi(\d+)|napi)\.(glibc|musl)\.node$/

const licencePattern = /^(licen[cs]e|notice|copying|thirdpartynotices)/i

/** The packages of package-lock.json that the program loads: path below the root, name, version, licence. */
export function runtimePackages(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const found = new Map()
  const visit = (from) => {
    const { dependencies, optionalDependencies } = packages[from]
    const name = nameOf(from)
    const names = loadedOf[name] ?? Object.keys({ ...dependencies, ...optionalDependencies })
    for (const dependency of names) {
      const path = resolve(packages, from, dependency)
      // Optional packages for other platforms are in the lockfile and not on the disk.
      if (path === null || buildOnly.test(dependency) || found.has(path) || !existsSync(join(root, path)))
        continue
      const { version, license } = packages[path]
      found.set(path, { path, name: nameOf(path), version, licence: license })
      visit(path)
    }
  }
  visit('')
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Where Node would find a package that is imported from `from`. */
function resolve(packages, from, name) {
  for (let folder = from; ;) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (folder === '') return null
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))
  }
}

function nameOf(path) {
  return path.split('node_modules/').at(-1)
}

/** Files below a directory, relative to it, sorted; without those of nested node_modules. */
function filesOf(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((file) => !file.startsWith('node_modules/') && !file.includes('/node_modules/'))
    .sort()
}

/** The files of a package that belong into the bundle. */
export function packageFiles(root, { path, name }, target) {
  const files = filesOf(join(root, path)).filter(
    (file) => loadable.test(file) && !unusedDirectories.test(file) && (isFor[name]?.(file, target) ?? true),
  )
  return withoutOtherPrebuilt(files, target)
}

/** Of several prebuilt addons, the one that node-gyp-build loads: for this ABI, else for Node-API. */
function withoutOtherPrebuilt(files, { abi }) {
  const wanted = [`node.abi${abi}.glibc.node`, 'node.napi.glibc.node'].find((file) => files.includes(file))
  return files.filter((file) => !prebuilt.test(file) || file === wanted)
}

/** Licence texts of packages that do not contain all of theirs, by the name of the package. */
const licencesElsewhere = [
  [/^@lmdb\/lmdb-/, ['node_modules/lmdb/LICENSE']],
  [/^@msgpackr-extract\//, ['node_modules/msgpackr/LICENSE']],
  [/^onnxruntime-/, ['scripts/licences/onnxruntime.txt']],
  // Its own text is that of the template for its JavaScript; its licence is the other.
  [/^tokenizers$/, ['PACKAGE/LICENSE', 'scripts/licences/Apache-2.0.txt']],
  [/^weak-lru-cache$/, ['scripts/licences/weak-lru-cache.txt']],
  [/^(pg-types|pgpass)$/, ['PACKAGE/README.md']],
  // Its README.md lists the libraries in it with their licences.
  [
    /^@img\/sharp-libvips-/,
    ['PACKAGE/README.md', 'scripts/licences/LGPL-3.0.txt', 'scripts/licences/GPL-3.0.txt'],
  ],
]

/** Name, version and licence texts of a package. */
export function licenceText(root, { path, name, version, licence }) {
  const own = readdirSync(join(root, path)).filter((file) => licencePattern.test(file))
  const [, listed] = licencesElsewhere.find(([pattern]) => pattern.test(name)) ?? []
  const files = listed ?? own.map((file) => join(path, file))
  if (files.length === 0) throw new Error(`${name} has no licence text: add one to scripts/licences`)
  const texts = files.map((file) => readFileSync(join(root, file.replace('PACKAGE', path)), 'utf8').trimEnd())
  return `${name} ${version} (${licence})\n\n${texts.join('\n\n')}\n`
}

/** Packages of which parts are compiled into the addon or the page, and Node: only their licences are copied. */
export function compiledPackages(root, target) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return [
    'node-addon-api',
    'simdjson',
    'preact',
    'preact-render-to-string',
    'uplot',
    nodePackage(target),
  ].map((name) => {
    const { version, license } = packages[`node_modules/${name}`]
    return { path: `node_modules/${name}`, name, version, licence: license }
  })
}

export function nodePackage({ platform, arch }) {
  return `node-${platform}-${arch}`
}

/**
 * The files of this project, relative to it: the build, and what git tracks of models, deploy and documentation. A model
 * package that somebody has put into models/ stays out.
 */
export function projectFiles(root) {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', 'models', 'deploy', 'docs', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error('a bundle is made from a git checkout, and git lists no files here')
  const tracked = stdout.split('\0').filter((file) => /^(models|deploy|docs)\/|^[A-Z]+\.md$/.test(file))
  const notServed = /\.map$|^\.build\/|^understudy-client\//
  const built = filesOf(join(root, 'dist')).filter((file) => !notServed.test(file))
  return [
    ...tracked.filter((file) => !/^models\/.*\.ts$/.test(file)),
    ...built.map((file) => join('dist', file)),
    addonFile,
  ]
}
