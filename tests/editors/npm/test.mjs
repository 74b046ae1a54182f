// node test.mjs SCRATCH SYSTEM, where SCRATCH has packages/ and project/.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'

const [scratch, system] = process.argv.slice(2)
const project = path.join(scratch, 'project')
const installed = path.join(scratch, 'installed')
const program = path.join(installed, 'node_modules/.bin/dupi-lsp')
let passed = 0
let failed = 0

async function test(name, body) {
  try {
    await body()
    passed++
    console.log(`ok ${name}`)
  } catch (error) {
    failed++
    console.log(`not ok ${name}: ${error.stack}`)
  }
}

function run(command, ...args) {
  const cwd = command === 'npm' || command === 'npx' ? installed : project
  return spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 600_000 })
}

/** The server, started as an editor does. */
function start() {
  const child = spawn(program, ['--stdio'], { cwd: project, stdio: ['pipe', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.on('data', (data) => (text += data))
  const send = (message) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }
  const sees = async (part) => {
    while (!text.includes(part)) await once(child.stdout, 'data', { signal: AbortSignal.timeout(180_000) })
  }
  const ended = once(child, 'exit')
  return { child, send, sees, ended }
}

const initialize = { id: 1, method: 'initialize', params: { processId: null, rootUri: null, capabilities: {} } }

/** The processes of a program that were started here. */
function running() {
  const real = fs.realpathSync(path.join(installed, `node_modules/dupi-lsp-${system}/bin/dupi-lsp`))
  const executable = (id) => {
    try {
      return fs.readlinkSync(`/proc/${id}/exe`)
    } catch {
      return undefined
    }
  }
  return fs.readdirSync('/proc').filter((id) => /^\d+$/.test(id) && executable(id) === real)
}

async function nothing_runs() {
  const end = Date.now() + 30_000
  while (running().length > 0) {
    assert(Date.now() < end, `still running: ${running()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

await test('the packages are installed without a network', () => {
  fs.mkdirSync(installed)
  fs.writeFileSync(path.join(installed, 'package.json'), '{}')
  const packages = fs.readdirSync(path.join(scratch, 'packages')).map((name) => path.join(scratch, 'packages', name))
  assert.equal(packages.length, 2)
  const done = run('npm', 'install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', ...packages)
  assert.equal(done.status, 0, done.stderr)
})

await test('the packages have the version of the program', () => {
  const { version, optionalDependencies } = JSON.parse(
    fs.readFileSync(path.join(installed, 'node_modules/dupi-lsp/package.json'), 'utf8'),
  )
  assert.equal(run(program, '--version').stdout, `dupi-lsp ${version}\n`)
  assert.deepEqual(new Set(Object.values(optionalDependencies)), new Set([version]))
})

await test('npx dupi-lsp --check finds copies, and its exit code arrives', () => {
  const done = run('npx', '--offline', 'dupi-lsp', '--check', '--no-index', project)
  assert.equal(done.status, 1, done.stderr)
  assert.match(done.stdout, /cart\/refund\.go:6-16/)
  assert.equal(run(program, '--check', '--no-index', 'cart/item.go').status, 0)
  assert.equal(run(program, '--check', '--no-such-flag').status, 2)
})

await test('an editor speaks with the server through it', async () => {
  const { child, send, sees, ended } = start()
  send(initialize)
  await sees('"serverInfo":{"name":"dupi-lsp"')
  send({ id: 2, method: 'shutdown' })
  await sees('"id":2')
  send({ method: 'exit' })
  child.stdin.end()
  assert.deepEqual(await ended, [0, null])
  await nothing_runs()
})

await test('the server ends when its input does', async () => {
  const { child, send, sees, ended } = start()
  send(initialize)
  await sees('"serverInfo"')
  child.stdin.end()
  assert.deepEqual(await ended, [1, null])
  await nothing_runs()
})

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  await test(`${signal} ends the server, and is how it ended`, async () => {
    const { child, send, sees, ended } = start()
    send(initialize)
    await sees('"serverInfo"')
    child.kill(signal)
    assert.deepEqual(await ended, [null, signal])
    await nothing_runs()
  })
}

await test('a server that is killed is told of as such', async () => {
  const { send, sees, ended } = start()
  send(initialize)
  await sees('"serverInfo"')
  running().forEach((id) => process.kill(Number(id), 'SIGKILL'))
  assert.deepEqual(await ended, [null, 'SIGKILL'])
})

await test('without the package for this system it says what to do', () => {
  fs.rmSync(path.join(installed, `node_modules/dupi-lsp-${system}`), { recursive: true })
  const done = run(program, '--check')
  assert.equal(done.status, 2)
  assert.match(done.stderr, new RegExp(`^dupi-lsp: the package dupi-lsp-${system} is missing: install again`))
})

console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
