/**
 * `understudy models list`, `verify`, `inspect`, `features` and `schema` as processes: output and exit codes.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  addVersion,
  changeManifest,
  models,
  modelsDir,
  sha256,
} from '../../../test/helpers/models-command.js'
import { manifestSchemaText, StatusFile } from '../../model/index.js'

describe('list', () => {
  test('prints one line per package with its role', () => {
    addVersion('v2')
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
    writeFileSync(join(modelsDir, 'SHADOW'), 'v2\n')
    const { status, stdout, stderr } = models('list')
    expect(stderr).toBe('')
    expect(stdout).toMatch(
      /\nactive {2}v1 +transport-test +64 +78 KiB {2}p_views, p_comments, p_up, downvote_share\n/,
    )
    expect(stdout).toMatch(/\nshadow {2}v2 +transport-test/)
    expect(status).toBe(0)
    expect(models().stdout).toBe(stdout)
  })

  test('prints the other packages along with an invalid one, and hashes nothing', () => {
    changeManifest('v1', { features: ['luck'] })
    addVersion('v2')
    writeFileSync(join(modelsDir, 'v2', 'head.onnx'), 'something else')
    const { status, stdout, stderr } = models('list')
    expect(stdout).toMatch(/\n {2}v1 +not valid\n/)
    expect(stdout).toMatch(/\n {2}v2 +transport-test/)
    expect(stdout).toMatch(/\n\nv1 is not valid: .*features that the catalogue lacks: luck\n$/)
    expect(stderr).toContain('no model is active')
    expect(status).toBe(0)
  })

  test('shows what a running server does with each version, and the last failure', async () => {
    addVersion('v2')
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v2\n')
    const failure = {
      version: 'v2',
      role: 'active',
      problem: 'it is broken',
      atMs: Date.UTC(2026, 5, 1),
    } as const
    await new StatusFile(modelsDir, modelsDir).write({
      versions: [
        { version: 'v1', role: 'active', state: 'serving' },
        { version: 'v2', role: 'active', state: 'loading' },
      ],
      failures: [failure],
    })
    const { stdout } = models('list', '--data-dir', modelsDir)
    expect(stdout).toMatch(/\n {2,}v1 +serving +transport-test/)
    expect(stdout).toMatch(/\nactive {2}v2 +loading +transport-test/)
    expect(stdout).toContain('\nv2 failed to load at 2026-06-01T00:00:00.000Z: it is broken\n')
    expect(JSON.parse(models('list', '--json', '--data-dir', modelsDir).stdout)).toMatchObject([
      { version: 'v1', state: 'serving', failure: null },
      { version: 'v2', state: 'loading', failure: { problem: 'it is broken' } },
    ])
  })

  test('names the versions in ACTIVE and SHADOW that have no package', () => {
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v0\n')
    writeFileSync(join(modelsDir, 'SHADOW'), 'v1\nv8\nv9\n')
    const messages =
      `understudy: ACTIVE names v0, but ${modelsDir} has no such package\n` +
      `understudy: SHADOW names v8, v9, but ${modelsDir} has no such package\n`
    const { status, stdout, stderr } = models('list')
    expect(stdout).toMatch(/\nshadow {2}v1 +transport-test/)
    expect(stderr).toBe(messages)
    expect(status).toBe(0)
    expect(models('list', '--json').stderr).toBe(messages)
  })

  test('prints JSON', () => {
    expect(JSON.parse(models('list', '--json').stdout)).toEqual([
      {
        version: 'v1',
        role: null,
        state: null,
        failure: null,
        kind: 'transport-test',
        provenance: { trained_on: 'nothing' },
        feature_count: 64,
        reads: [],
        heads: ['p_views', 'p_comments', 'p_up', 'downvote_share'],
        bytes: expect.any(Number) as number,
        problem: null,
      },
    ])
  })

  test('fails for an empty directory', () => {
    rmSync(join(modelsDir, 'v1'), { recursive: true })
    const { status, stderr } = models('list')
    expect(stderr).toContain('there is no model package in')
    expect(status).toBe(1)
  })
})

describe('verify', () => {
  test('prints one line per check and exits with 0 for a valid package', () => {
    const { status, stdout } = models('verify', 'v1')
    expect(stdout).toMatch(/^PASS {2}manifest {5}A transport test, not a trained model, with 64 features/)
    expect(stdout).toMatch(/\nPASS {2}golden {7}5 golden cases: /)
    expect(stdout).toMatch(/\nSKIP {2}text {9}The model reads no texts\.\n/)
    expect(stdout).toMatch(
      /\n\nv1 passed verification on cpu; it is a transport test, and its scores have no meaning\.\n$/,
    )
    expect(status).toBe(0)
  })

  test('checks the active version if none is given', () => {
    expect(models('verify').stderr).toMatch(/ACTIVE does not exist/)
    writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
    expect(models('verify').stdout).toContain('v1 passed verification')
  })

  test('names the failed checks and exits with 1 for an invalid package', () => {
    writeFileSync(join(modelsDir, 'v1', 'head.onnx'), 'something else')
    const { status, stdout, stderr } = models('verify', 'v1')
    expect(stdout).toMatch(/\nFAIL {2}files {8}.*head\.onnx/)
    expect(stderr).toBe('understudy: v1 failed verification: files\n')
    expect(stdout).not.toContain('failed verification')
    expect(status).toBe(1)
  })

  test('prints the report as JSON', () => {
    const { status, stdout } = models('verify', 'v1', '--json')
    const report = JSON.parse(stdout) as { checks: object[] }
    expect(report).toMatchObject({ version: 'v1', kind: 'transport-test', provider: 'cpu', passed: true })
    expect(report.checks[0]).toMatchObject({ check: 'manifest', state: 'pass' })
    expect(status).toBe(0)
  })

  test('fails with a provider that this machine does not have', () => {
    const { status, stdout } = models('verify', 'v1', '--provider', 'abacus')
    expect(stdout).toMatch(/\nFAIL {2}provider {5}with the provider abacus alone the model does not load/)
    expect(status).toBe(1)
  })

  test.each([
    [['--tolerance', '0.1'], '--tolerance needs --provider'],
    [['--provider', 'cuda', '--tolerance', '0'], '--tolerance must be above 0 and at most 1, not 0'],
  ])('refuses %j', (flags, message) => {
    const { status, stderr } = models('verify', 'v1', ...flags)
    expect(stderr).toContain(message)
    expect(status).toBe(2)
  })
})

describe('inspect', () => {
  test('prints the manifest and the ports of the graphs', () => {
    const { status, stdout } = models('inspect', 'v1')
    expect(stdout).toMatch(/^version {7}v1\n/)
    expect(stdout).toContain('\ninput         features: float32 [N, 64]\n')
    expect(stdout).toContain('\noutput        probs: float32 [N, 4]\n')
    expect(status).toBe(0)
  })

  test('prints the problem of a file that is not an ONNX model', () => {
    writeFileSync(join(modelsDir, 'v1', 'head.onnx'), 'something else')
    expect(models('inspect', 'v1').stdout).toMatch(/\nproblem {7}.*head\.onnx is not an ONNX model/)
  })

  test('prints the SHA-256 of a file and compares it with the manifest', () => {
    const file = join(modelsDir, 'v1', 'head.onnx')
    const before = sha256(readFileSync(file))
    expect(models('inspect', 'v1').stdout).toContain(`\nSHA-256       ${before}, same as in the manifest\n`)
    writeFileSync(file, 'something else')
    const { stdout } = models('inspect', 'v1')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      ` SHA-256 ${sha256('something else')}, in the manifest ${before} `,
    )
  })

  test('accepts an ONNX file without a manifest', () => {
    const file = join(modelsDir, 'v1', 'head.onnx')
    const { status, stdout } = models('inspect', file)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`SHA-256 ${sha256(readFileSync(file))} input features:`)
    expect(stdout).toContain('\ninput         features: float32 [N, 64]\n')
    expect(status).toBe(0)
    expect(models('inspect', file, '--json').stdout).toContain('"dtype": "float32"')
    writeFileSync(file, 'something else')
    expect(models('inspect', file)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('not an ONNX model') as string,
    })
    expect(models('inspect', 'nothing.onnx')).toMatchObject({ status: 1, stdout: '' })
  })

  test('prints the manifest, its identity and the graphs as JSON', () => {
    const view = JSON.parse(models('inspect', 'v1', '--json').stdout) as {
      identity: string
      graphs: object[]
    }
    expect(view.identity).toMatch(/^[0-9a-f]{64}$/)
    expect(view.graphs).toMatchObject([
      { place: 'head', graph: { inputs: [{ name: 'features', shape: ['N', 64] }] } },
    ])
  })
})

describe('features', () => {
  test('prints the catalogue with formulas', () => {
    const { stdout, stderr } = models('features')
    expect(stdout).toMatch(/\ncounters +views_log +0 +log\(views\)\n/)
    expect(stderr).toContain('log(x) is the natural logarithm of 1 + x')
    expect((JSON.parse(models('features', '--json').stdout) as object[]).length).toBe(
      stdout.trim().split('\n').length - 2,
    )
  })
})

test('schema prints the JSON schema of manifests', () => {
  expect(models('schema').stdout).toBe(manifestSchemaText())
})
