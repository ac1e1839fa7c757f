/**
 * The entry point, which `bin/understudy` runs. It checks the version of Node before it loads the program: Node refuses a module
 * that imports a function of a later version with a SyntaxError.
 */
const major = 22

if (process.version.startsWith(`v${major}.`)) await import('./program.js')
else {
  process.stderr.write(
    `understudy: needs Node ${major}, and this is ${process.version}: start it by bin/understudy, which finds the pinned one\n`,
  )
  process.exitCode = 1
}
