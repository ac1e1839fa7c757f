/** Alert rules and dashboard against the metrics. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMetrics } from '../src/admin/metrics/registry.js'
import { projectDir } from './helpers/project.js'

const read = (path: string): string => readFileSync(join(projectDir, path), 'utf8')

test('alert rules and the dashboard name metrics that exist', async () => {
  const metrics = await createMetrics().registry.getMetricsAsJSON()
  const names = new Set(
    metrics.map(({ name, type }) => (String(type) === 'histogram' ? `${name}_bucket` : name)),
  )
  const files = ['deploy/prometheus/understudy.rules.yml', 'deploy/grafana/understudy.json']
  for (const file of files) {
    const used = read(file).match(/\b(understudy|process|nodejs)_[a-z0-9_]+(?=[[{ )<>="\n])/g) ?? []
    expect(used.length).toBeGreaterThan(10)
    expect(used.filter((name) => !names.has(name))).toEqual([])
  }
})

test('every alert has a section of the runbook: what it means, what to look at, what to do', () => {
  const rules = read('deploy/prometheus/understudy.rules.yml')
  const alerts = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = '']) => name)
  expect([...rules.matchAll(/^ +runbook: (\S+)$/gm)].map(([, link]) => link)).toEqual(
    alerts.map((name) => `docs/operating.md#${name.toLowerCase()}`),
  )
  const [, runbook = ''] = /\n## Runbook\n([^]*?)\n## /.exec(read('docs/operating.md')) ?? []
  const sections = runbook.split(/^### /m).slice(1)
  expect(sections.map((section) => section.split('\n')[0])).toEqual(alerts)
  for (const section of sections) {
    expect(section).toMatch(/^\w+\n\n[A-Z`][^\n]{20,}\n\n- /)
    expect([...section.matchAll(/^- \*\*([\w ]+):\*\*/gm)].map(([, part]) => part)).toEqual(['Look at', 'Do'])
  }
})

test('docs/admin-listener.md lists each route of the admin listener', () => {
  const source = read('src/admin/admin.ts')
  const routes = [...source.matchAll(/^ +(?:\.\.\.\()?.*?(?:route\('\w+', )?'(\/[^' ]*)',/gm)].map(
    ([, path]) => path,
  )
  const documented = [...read('docs/admin-listener.md').matchAll(/^- `(\/[^`?]*)/gm)].map(([, path]) => path)
  expect(new Set(documented)).toEqual(new Set(routes))
})

test('every alert names its next action, and promtool accepts the rules and their tests', ({ skip }) => {
  const rules = read('deploy/prometheus/understudy.rules.yml')
  expect(rules.match(/^ +action: .{20}/gm)).toHaveLength(rules.match(/^ +- alert: /gm)?.length ?? 0)
  const alerts = [...rules.matchAll(/^ +- alert: (\w+)/gm)].map(([, name]) => name)
  const tests = read('deploy/prometheus/understudy.rules.test.yml')
  expect(alerts.filter((name) => !tests.includes(`labels: '{alertname="${name}"}'`))).toEqual([])
  const promtool = (...args: string[]) =>
    spawnSync('promtool', args, { cwd: join(projectDir, 'deploy/prometheus'), encoding: 'utf8' })
  if (promtool('--version').status !== 0) skip('promtool is not installed')
  for (const args of [
    ['check', 'rules', 'understudy.rules.yml'],
    ['test', 'rules', 'understudy.rules.test.yml'],
  ]) {
    const { status, stdout, stderr } = promtool(...args)
    expect(status, stdout + stderr).toBe(0)
  }
})
