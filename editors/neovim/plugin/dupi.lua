-- Starts the server for the files that it knows, and makes the command. All else is in lua/dupi.lua.
if vim.g.loaded_dupi or vim.fn.has('nvim-0.10') == 0 then
  return
end
vim.g.loaded_dupi = true

vim.api.nvim_create_user_command('Dupi', function(command)
  require('dupi').run(command.fargs)
end, {
  nargs = '*',
  desc = 'Duplicated code: copies, compare, next, prev, ignore, report, status',
  complete = function(lead, line)
    return require('dupi').complete(lead, line)
  end,
})

if vim.lsp.enable then
  vim.lsp.enable('dupi')
else
  require('dupi').start_on_filetype()
end
