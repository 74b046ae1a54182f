#!/usr/bin/env node
// Runs the program of the package for this system. It has this process's own input and output, so that an editor speaks
// with it directly; signals go to it, and how it ends is how this ends.
'use strict'

const { spawn } = require('node:child_process')
const os = require('node:os')

/** As for wrong usage: nothing was scanned. */
const FAILED = 2

const system = `${process.platform}-${process.arch}`

function fail(message) {
  console.error(`dupi-lsp: ${message}`)
  process.exit(FAILED)
}

function program() {
  const name = process.platform === 'win32' ? 'dupi-lsp.exe' : 'dupi-lsp'
  try {
    return require.resolve(`dupi-lsp-${system}/bin/${name}`)
  } catch {
    const known = Object.keys(require('../package.json').optionalDependencies)
    if (known.includes(`dupi-lsp-${system}`)) {
      fail(`the package dupi-lsp-${system} is missing: install again, without --omit=optional`)
    }
    fail(`there is no package for ${system}: build it with Rust, by cargo install`)
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' })
const signals = process.platform === 'win32' ? [] : ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
for (const signal of signals) {
  process.on(signal, () => child.kill(signal))
}
child.on('error', (error) => fail(`${child.spawnfile} cannot be run: ${error.message}`))
child.on('exit', (code, signal) => {
  if (!signal) {
    process.exit(code)
  }
  signals.forEach((own) => process.removeAllListeners(own))
  process.kill(process.pid, signal)
  // Where a signal does not end a process at once, the code says which one it was.
  setTimeout(() => process.exit(128 + os.constants.signals[signal]), 1000)
})
