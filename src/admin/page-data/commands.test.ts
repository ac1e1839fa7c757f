/** The commands that the page shows to be copied do what their place says, and nothing else. */
import { expect, test } from 'vitest'
import { modelCommands } from './models.js'
import { simulateCommand } from './now.js'

const directories = { dataDir: '/srv/my data', modelsDir: '/srv/models' }
const suffix = "--models-dir /srv/models --data-dir '/srv/my data'"

test('each command names the version and the directories that it uses', () => {
  expect(modelCommands(directories, 'a', [])).toEqual({
    verify: 'understudy models verify a --models-dir /srv/models',
    inspect: 'understudy models inspect a --models-dir /srv/models',
    shadow: `understudy models shadow a ${suffix}`,
    activate: `understudy models activate a ${suffix}`,
  })
})

test.each([
  { shadows: ['b'], version: 'a', wanted: 'b a' },
  { shadows: ['b', 'a'], version: 'a', wanted: 'b' },
  { shadows: ['a'], version: 'a', wanted: '--none' },
])(
  'with the shadows $shadows, the command for $version leaves the others',
  ({ shadows, version, wanted }) => {
    expect(modelCommands(directories, version, shadows).shadow).toBe(
      `understudy models shadow ${wanted} ${suffix}`,
    )
  },
)

test('the command for a first cycle names the directory that has the key, quoted for a shell, and the listener', () => {
  const listener = { dataDir: '/srv/my data', host: '0.0.0.0', port: 9000 }
  expect(simulateCommand(listener)).toBe(
    "understudy simulate --hours 1 --data-dir '/srv/my data' --url http://127.0.0.1:9000",
  )
  expect(simulateCommand({ ...listener, host: '10.0.0.5', tlsCertFile: '/etc/cert.pem' })).toContain(
    '--url https://10.0.0.5:9000',
  )
})
