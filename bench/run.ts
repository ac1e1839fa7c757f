/**
 * The entry point of `npm run bench`: see `usage` in options.ts, and docs/performance.md.
 */
import { messageOf } from '../src/base/index.js'
import { bench } from './bench.js'
import { parseOptions, usage } from './options.js'

try {
  const options = parseOptions(process.argv.slice(2))
  if (options === null) console.log(usage)
  else await bench(options, (text) => console.log(text))
} catch (error) {
  console.error(`bench: ${messageOf(error)}`)
  if (process.env.UNDERSTUDY_DEBUG !== undefined) console.error(error)
  process.exitCode = 1
}
