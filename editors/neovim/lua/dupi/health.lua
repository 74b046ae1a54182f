--- `:checkhealth dupi`: what a person needs to know when no copies are shown.
local M = {}

--- What the program itself says of a folder; its text goes into an issue as it is.
local function examine(program, root)
  local health = vim.health
  local done = vim.system({ program, 'doctor', '--format', 'json', root }, { text = true }):wait()
  local ok, diagnosis = pcall(vim.json.decode, done.stdout)
  if not ok then
    -- A release without that verb, or a folder that cannot be looked at.
    return health.error(('%s doctor fails: %s'):format(program, vim.trim(done.stderr)))
  end
  for _, problem in ipairs(diagnosis.attention) do
    health.warn(problem.what, { problem.advice })
  end
  if #diagnosis.attention == 0 then
    health.ok('nothing needs attention')
  end
  local text = vim.system({ program, 'doctor', root }, { text = true }):wait().stdout
  health.info('for an issue:\n' .. vim.trim(text))
end

function M.check()
  local health = vim.health
  health.start('dupi')
  if vim.fn.has('nvim-0.10') == 0 then
    return health.error('Neovim is older than 0.10')
  end
  local program = require('dupi').config().cmd[1]
  if vim.fn.executable(program) == 0 then
    health.error(program .. ' cannot be run', {
      'Put dupi-lsp on the path: `cargo install --path server/dupi-lsp`, or `npm install --global dupi-lsp`',
      "Or say where it is: `vim.g.dupi = { cmd = { '/path/to/dupi-lsp' } }`",
    })
  else
    local version = vim.system({ program, '--version' }, { text = true }):wait()
    if version.code == 0 then
      health.ok(('%s (%s)'):format(vim.trim(version.stdout), vim.fn.exepath(program)))
    else
      health.error(('%s --version fails: %s'):format(program, vim.trim(version.stderr)))
    end
  end
  local clients = vim.lsp.get_clients({ name = 'dupi' })
  for _, client in ipairs(clients) do
    local n = vim.tbl_count(client.attached_buffers)
    local root = client.config.root_dir
    health.ok(('the server runs for %s, with %d open files'):format(root or 'no folder', n))
    if not root then
      health.warn('a file outside of any project is compared with nothing', {
        'Make a `dupi.toml` or a Git repository where the project starts',
      })
    end
  end
  if #clients == 0 then
    health.info('the server does not run: it starts with the first file of a language that it knows')
  end
  if vim.fn.executable(program) == 1 then
    local root = clients[1] and clients[1].config.root_dir
    examine(program, root or vim.fs.root(0, require('dupi').config().root_markers) or vim.uv.cwd())
  end
end

return M
