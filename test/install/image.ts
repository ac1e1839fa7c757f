/**
 * The image of deploy/Dockerfile, built by the commands of docs/install.md with buildah in place of Docker, on the root directory
 * that stands for its base image: what it contains, its size, and the service in a container of it.
 */
import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { executable, projectDir } from '../harness/server.js'
import type { Check } from './checks.js'
import { Container, type ImageConfig } from './container.js'
import { commandsBelow } from './documents.js'
import { output } from './root.js'

export interface ImageParts {
  /** Empty directory. */
  readonly scratch: string
  /** Archive of the root that stands for the base image. */
  readonly archive: string
  /** Directory of the archive of the bundle. */
  readonly bundles: string
  readonly check: Check
  readonly print: (line: string) => void
}

/** Compressed, with the base. */
const imageBytesMax = 300e6
const user = 10001
// Less than compose.yaml grants: what works here works there.
const memoryBytesMax = 1024 ** 3
const cpusMax = 0.5
const graceMs = 10_000
/** The package of docs/models.md. */
const newModel = 'head-2026-03'

interface ComposeService {
  readonly image: string
  readonly hostname: string
  readonly stop_grace_period: string
  readonly tmpfs: readonly string[]
  readonly pids_limit: number
  readonly environment: Readonly<Record<string, string>>
  readonly volumes: readonly string[]
  readonly ports: readonly string[]
}

export async function checkImage({ scratch, archive, bundles, check, print }: ImageParts): Promise<void> {
  const storage = [
    '--root',
    join(scratch, 'storage'),
    '--runroot',
    join(scratch, 'run'),
    '--storage-driver',
    'vfs',
  ]
  const buildah = (...args: string[]): string => output('buildah', [...storage, ...args])
  const dockerfile = readFileSync(join(projectDir, 'deploy/Dockerfile'), 'utf8')
  const base = /^ARG DEBIAN=(.*)$/m.exec(dockerfile)?.[1] ?? ''
  const compose = parse(readFileSync(join(projectDir, 'deploy/compose.yaml'), 'utf8')) as {
    services: { understudy: ComposeService }
  }
  const service = compose.services.understudy
  const modelsDir = join(scratch, 'srv/understudy-models')
  const dataDir = join(scratch, 'data')
  let root = ''
  const configs: ImageConfig[] = []
  let container: Container | null = null

  await check('the commands of docs/install.md build the image', () => {
    const context = join(scratch, 'base')
    mkdirSync(context)
    cpSync(archive, join(context, 'root.tar'))
    writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nADD root.tar /\n')
    buildah('bud', '--isolation', 'chroot', '-t', base, context)
    mkdirSync(join(scratch, 'srv'))
    const build = `buildah ${storage.join(' ')} bud --format docker --isolation chroot --pull=never`
    const [commands = ''] = commandsBelow('## Docker').split('\n\n')
    const here = commands.replaceAll('/srv/', `${scratch}/srv/`).replace('docker build', build)
    output('sh', ['-ec', `cd '${bundles}'; ${here}`])
    const inspected = JSON.parse(buildah('inspect', '--type', 'image', service.image)) as {
      Docker: { config: ImageConfig }
    }
    configs.push(inspected.Docker.config)
    root = buildah('mount', buildah('from', '--pull=never', service.image).trim()).trim()
  })
  const [image] = configs
  if (image === undefined) return

  await check(`the image has less than ${imageBytesMax / 1e6} MB`, () => {
    const directory = join(scratch, 'oci')
    buildah('push', '--quiet', service.image, `oci:${directory}`)
    const blob = (digest: string): string => join(directory, 'blobs', digest.replace(':', '/'))
    const { manifests } = JSON.parse(readFileSync(join(directory, 'index.json'), 'utf8')) as {
      manifests: { digest: string }[]
    }
    const { layers } = JSON.parse(readFileSync(blob(manifests[0]?.digest ?? ''), 'utf8')) as {
      layers: { digest: string; size: number }[]
    }
    const words = ['base', 'bundle, data directory and link']
    for (const [index, { size, digest }] of layers.entries()) {
      const unpacked = Number(output('sh', ['-c', `gzip -dc '${blob(digest)}' | wc -c`]))
      print(
        `          layer ${index + 1}, ${words[index] ?? 'more'}: ${(size / 1e6).toFixed(1)} MB, unpacked ${(unpacked / 1e6).toFixed(1)} MB`,
      )
    }
    const bytes = layers.reduce((sum, { size }) => sum + size, 0)
    if (bytes > imageBytesMax) throw new Error(`${bytes} bytes`)
    return `${(bytes / 1e6).toFixed(1)} MB compressed`
  })

  await check(
    'the image contains no compiler, no package of development, and no program that its user can change',
    () => {
      const found = output('find', [
        root,
        '-xdev',
        '-type',
        'f',
        '-regex',
        '.*/bin/\\(gcc\\|cc\\|g\\+\\+\\|clang\\|ld\\|make\\|npm\\|python3\\)[-.0-9]*',
      ])
      const { devDependencies } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as {
        devDependencies: object
      }
      const packages = readdirSync(join(root, 'opt/understudy/node_modules'))
      const development = Object.keys(devDependencies).filter((name) => packages.includes(name))
      const changeable = output('find', [
        join(root, 'opt'),
        '(',
        '-not',
        '-user',
        '0',
        '-o',
        '-perm',
        '/022',
        ')',
        '-not',
        '-type',
        'l',
      ])
      const problems = [...found.split('\n'), ...development, ...changeable.split('\n')].filter(
        (one) => one !== '',
      )
      if (problems.length > 0) throw new Error(problems.join(', '))
      const { uid, mode } = statSync(join(root, 'data'))
      if (uid !== user || (mode & 0o777) !== 0o700)
        throw new Error(`/data: user ${uid}, mode ${mode.toString(8)}`)
    },
  )

  const start = (
    env: Readonly<Record<string, string>>,
    readable: Readonly<Record<string, string>>,
  ): Promise<Container> =>
    Container.start({
      root,
      config: image,
      hostname: service.hostname,
      env,
      memoryBytesMax,
      cpusMax,
      processesMax: service.pids_limit,
      writable: { [Object.keys(image.Volumes)[0] ?? '']: dataDir },
      readable: { '/models': modelsDir, ...readable },
    })

  await check('a container with a read-only root and without /dev/shm serves a simulated hour', async () => {
    mkdirSync(dataDir, { mode: 0o700 })
    chownSync(dataDir, user, user)
    container = await start(
      // On a busy machine the check of the latency would refuse the new model.
      { UNDERSTUDY_MODELS_DIR: '/models', UNDERSTUDY_MODEL_LATENCY_MS_MAX: '60000' },
      {},
    )
    const { status, text } = container.inNetwork([
      executable,
      'simulate',
      '--hours',
      '1',
      '--json',
      '--data-dir',
      dataDir,
    ])
    if (status !== 0) throw new Error(text)
    expectRan(container.execute(['understudy', 'status']))
    const peak = container.memoryPeakMib()
    const waited = container.cpuWaitSeconds()
    // Half a processor is less than the client asks for at full speed.
    if (waited === 0) throw new Error('the limit of processor time is not in force')
    return [
      peak === null
        ? 'no limit of memory'
        : `memory up to ${peak.toFixed(0)} of ${memoryBytesMax / 1024 ** 2} MiB`,
      waited === null ? 'no limit of processor time' : `waited ${waited.toFixed(1)} s for ${cpusMax} CPU`,
    ].join(', ')
  })

  await check("the image's health check passes, and its user cannot write outside /data and /tmp", () => {
    const running = container!
    const [, command = '[]'] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(dockerfile) ?? []
    expectRan(running.execute(JSON.parse(command) as string[]))
    expectRan(running.execute(['sh', '-c', 'echo x > /data/x && echo x > /tmp/x && rm /data/x']))
    const written = ['/', '/opt/understudy', '/models', '/etc', '/dev', '/run'].filter(
      (directory) => running.execute(['sh', '-c', `echo x > ${directory}/x`]).status === 0,
    )
    const status = running.execute(['sh', '-c', 'cat /proc/1/status; id -u']).text
    if (!/^CapEff:\s+0+$/m.test(status) || !/^NoNewPrivs:\s+1$/m.test(status)) throw new Error(status)
    if (written.length > 0) throw new Error(`it wrote to ${written.join(', ')}`)
  })

  await check('the commands of docs/models.md swap the model of a running container', async () => {
    const running = container!
    const package_ = join(scratch, newModel)
    cpSync(join(projectDir, 'models/demo-1'), package_, { recursive: true })
    const manifest = join(package_, 'manifest.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replaceAll('demo-1', newModel))
    const commands = commandsBelow('### Containers and several processes', 'docs/models.md')
      .replaceAll('/srv/', `${scratch}/srv/`)
      .replaceAll('docker exec understudy', `nsenter ${running.execPrefix().join(' ')}`)
    output('sh', ['-ec', `cd '${scratch}'; ${commands}`])
    const serves = (): boolean =>
      running
        .inNetwork(['curl', '-s', 'http://127.0.0.1:8080/v1/health'])
        .text.includes(`"model_version":"${newModel}"`)
    await running.until(`${newModel} serves`, serves)
  })

  await check('the container stops within its grace period', async () => {
    const { status, seconds } = await container!.stop(image.StopSignal as NodeJS.Signals, graceMs)
    if (status !== 0) throw new Error(`exit code ${status} after ${seconds.toFixed(1)} s`)
    return `${seconds.toFixed(2)} s of ${graceMs / 1000}`
  })

  await check(
    'a container with the environment, secrets, volumes and name of compose.yaml serves and is scraped',
    async () => {
      expectEqual(service.stop_grace_period, `${graceMs / 1000}s`)
      expectEqual(service.volumes, [
        `data:${Object.keys(image.Volumes)[0]}`,
        `/srv/understudy-models:${service.environment['UNDERSTUDY_MODELS_DIR']}:ro`,
      ])
      const published = service.ports.map((port) => `${port.split(':').at(-1)}/tcp`)
      expectEqual(published, Object.keys(image.ExposedPorts))
      expectEqual(
        service.tmpfs.map((one) => one.split(':')[0]),
        ['/tmp'],
      )
      const secrets = join(scratch, 'secrets')
      mkdirSync(secrets)
      writeFileSync(join(secrets, 'api-keys'), 'key-for-the-tests-0123456789\n', { mode: 0o600 })
      chownSync(join(secrets, 'api-keys'), user, user)
      const running = await start(service.environment, { '/run/secrets': secrets })
      container = running
      const curl = (path: string, token: string): string => {
        const { text } = running.inNetwork([
          'curl',
          '-s',
          '-H',
          `Host: ${service.hostname}:8081`,
          '-H',
          `Authorization: Bearer ${token}`,
          `http://127.0.0.1:8081${path}`,
        ])
        return text
      }
      const metrics = curl('/metrics', readFileSync(join(dataDir, 'admin-token'), 'utf8').trim())
      if (!metrics.includes('\nunderstudy_cycles_total')) throw new Error(metrics.slice(0, 500))
      const { status } = await running.stop(image.StopSignal as NodeJS.Signals, graceMs)
      if (status !== 0) throw new Error(`exit code ${status}`)
    },
  )

  await (container as Container | null)?.stop('SIGKILL', 0)
  buildah('umount', '--all')
  buildah('rm', '--all')
}

function expectRan({ status, text }: { status: number | null; text: string }): void {
  if (status !== 0) throw new Error(`status ${status}: ${text}`)
}

function expectEqual(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
}
