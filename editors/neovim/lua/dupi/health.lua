--- `:checkhealth dupi`: what a person needs to know when no copies are shown.
local M = {}

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
end

return M
