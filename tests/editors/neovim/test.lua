-- The plugin in a real Neovim: nvim --clean --headless -l test.lua PLUGIN SERVER WORKSPACE
-- Every step waits for what must come, and for nothing else.
local plugin, server, workspace = unpack(_G.arg)

--- A busy machine is slow; what takes longer never comes.
local PATIENCE = 180000

vim.g.dupi = { cmd = { server } }
vim.opt.rtp:prepend(plugin)
vim.cmd('filetype plugin on')
vim.cmd('runtime! plugin/dupi.lua')

local passed, failed = 0, 0
local said, opened = {}, {}
vim.notify = function(message)
  table.insert(said, message)
end
vim.ui.open = function(path)
  table.insert(opened, path)
end

local function test(name, body)
  local ok, problem = xpcall(body, debug.traceback)
  if ok then
    passed = passed + 1
  else
    failed = failed + 1
  end
  io.stdout:write(ok and ('ok ' .. name .. '\n') or ('not ok ' .. name .. ': ' .. problem .. '\n'))
end

local function eventually(what, is_so, seen)
  local function check()
    -- Lenses are resolved when they are drawn.
    vim.cmd('redraw')
    return is_so() and true or false
  end
  if not vim.wait(PATIENCE, check, 20) then
    error(('timed out: %s; seen: %s'):format(what, vim.inspect(seen and seen() or said)), 2)
  end
end

local function equal(seen, expected)
  assert(vim.deep_equal(seen, expected), ('expected %s, seen %s'):format(vim.inspect(expected), vim.inspect(seen)))
end

local function open(file)
  vim.cmd.edit(workspace .. '/cart/' .. file)
  return vim.api.nvim_get_current_buf()
end

local function messages(buf)
  return vim.tbl_map(function(diagnostic)
    return diagnostic.message
  end, vim.diagnostic.get(buf))
end

local function shows(buf, expected)
  eventually(vim.inspect(expected), function()
    return vim.deep_equal(messages(buf), expected)
  end, function()
    return messages(buf)
  end)
end

local function is_said(pattern)
  eventually(pattern, function()
    return said[#said] and said[#said]:find(pattern)
  end)
  said = {}
end

local function places(list)
  return vim.tbl_map(function(item)
    return ('%s:%d'):format(vim.fn.fnamemodify(vim.fn.bufname(item.bufnr), ':t'), item.lnum)
  end, list)
end

--- All that is drawn in a buffer beside its text.
local function is_drawn(buf, text)
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
    if vim.inspect(mark[4]):find(text, 1, true) then
      return true
    end
  end
end

local total, refund = nil, nil
local REFUND = '11 lines duplicated in 1 other place: cart/refund.go:6'
local LABEL = '13 lines duplicated in 1 other place: cart/refund.go:19'
local TOTAL = '11 lines duplicated in 1 other place: cart/total.go:6'
local NAMES = '13 lines duplicated in 1 other place: cart/total.go:23'

test('copies are diagnostics, with where the others are', function()
  total = open('total.go')
  shows(total, { REFUND, LABEL })
  local diagnostic = vim.diagnostic.get(total)[1]
  equal({ diagnostic.lnum, diagnostic.end_lnum, diagnostic.code, diagnostic.source }, { 5, 15, 'renamed', 'dupi' })
  equal(diagnostic.severity, vim.diagnostic.severity.INFO)
end)

test('a lens stands above each copy', function()
  for line, lens in pairs({ [6] = '⧉ 1 copy · 11 lines · renamed', [23] = '⧉ 1 copy · 13 lines · renamed' }) do
    -- Only what is seen is drawn.
    vim.api.nvim_win_set_cursor(0, { line, 0 })
    vim.cmd('normal! zz')
    eventually(lens, function()
      return is_drawn(total, lens)
    end)
  end
end)

test('the command of a lens fills the quickfix list', function()
  vim.api.nvim_win_set_cursor(0, { 6, 0 })
  vim.lsp.codelens.run()
  eventually('the list', function()
    return vim.fn.getqflist({ size = 0 }).size == 2
  end)
  equal(places(vim.fn.getqflist()), { 'refund.go:6', 'total.go:6' })
  equal(vim.bo.buftype, 'quickfix')
  vim.cmd('cclose')
end)

test(':Dupi copies fills the location list, if that is wanted, from anywhere in a copy', function()
  vim.g.dupi = { cmd = { server }, list = 'location' }
  vim.api.nvim_win_set_cursor(0, { 28, 0 })
  vim.cmd('Dupi copies')
  eventually('the list', function()
    return vim.fn.getloclist(0, { size = 0 }).size == 2
  end)
  equal(places(vim.fn.getloclist(0)), { 'refund.go:19', 'total.go:23' })
  vim.cmd('lclose')
  vim.g.dupi = { cmd = { server } }
end)

test(':Dupi next and prev go from copy to copy, and around', function()
  local steps = { { 'next', 1, 6 }, { 'next', 6, 23 }, { 'next', 23, 6 }, { 'prev', 23, 6 }, { 'prev', 6, 23 } }
  for _, step in ipairs(steps) do
    vim.api.nvim_win_set_cursor(0, { step[2], 0 })
    vim.cmd('Dupi ' .. step[1])
    eventually('line ' .. step[3], function()
      return vim.api.nvim_win_get_cursor(0)[1] == step[3]
    end)
  end
end)

test(':Dupi compare shows two fragments in diff mode', function()
  vim.api.nvim_win_set_cursor(0, { 9, 0 })
  vim.cmd('Dupi compare')
  eventually('a second tab', function()
    return vim.fn.tabpagenr('$') == 2
  end)
  local windows = vim.api.nvim_tabpage_list_wins(0)
  equal(#windows, 2)
  local names = {}
  for _, window in ipairs(windows) do
    local buf = vim.api.nvim_win_get_buf(window)
    assert(vim.wo[window].diff and vim.bo[buf].buftype == 'nofile' and not vim.bo[buf].modifiable)
    equal(vim.api.nvim_buf_line_count(buf), 11)
    table.insert(names, vim.api.nvim_buf_get_name(buf):match('[^/]*$'))
  end
  equal(names, { 'total.go:6-16', 'refund.go:6-16' })
  -- Of the eleven lines these are not the same.
  local different = vim.tbl_filter(function(line)
    return vim.fn.diff_hlID(line, 1) ~= 0
  end, vim.fn.range(1, 11))
  equal(different, { 1, 3, 8 })
  vim.cmd('normal q')
  equal(vim.fn.tabpagenr('$'), 1)
end)

test('the code action of a copy goes there, the other compares', function()
  vim.api.nvim_win_set_cursor(0, { 9, 0 })
  local function act(title)
    vim.lsp.buf.code_action({
      apply = true,
      filter = function(action)
        return vim.startswith(action.title, title)
      end,
    })
  end
  act('Compare with copy 1')
  eventually('a second tab', function()
    return vim.fn.tabpagenr('$') == 2
  end)
  vim.cmd('tabclose')
  act('Go to copy 1')
  eventually('the other file', function()
    return vim.fn.expand('%:t') == 'refund.go' and vim.api.nvim_win_get_cursor(0)[1] == 6
  end)
end)

test('a copy that is typed appears, where it is typed and in the other files', function()
  refund = open('refund.go')
  shows(refund, { TOTAL, NAMES })
  local text = vim.api.nvim_buf_get_lines(refund, 5, 16, false)
  local item = open('item.go')
  vim.api.nvim_buf_set_lines(item, -1, -1, false, text)
  shows(item, { '11 lines duplicated in 2 other places: cart/refund.go:6, cart/total.go:6' })
  shows(total, { '11 lines duplicated in 2 other places: cart/item.go:9, cart/refund.go:6', LABEL })
  vim.cmd('silent undo')
  shows(item, {})
  shows(total, { REFUND, LABEL })
end)

test('a copy that is deleted in one file goes in the other', function()
  vim.api.nvim_buf_set_lines(refund, 5, 16, false, {})
  shows(total, { '13 lines duplicated in 1 other place: cart/refund.go:8' })
  vim.api.nvim_buf_call(refund, function()
    vim.cmd('silent undo')
  end)
  shows(total, { REFUND, LABEL })
end)

test(':Dupi ignore writes a comment, and the copy is gone', function()
  vim.cmd.buffer(total)
  vim.api.nvim_win_set_cursor(0, { 10, 0 })
  vim.cmd('Dupi ignore')
  shows(total, { LABEL })
  equal(vim.api.nvim_buf_get_lines(total, 5, 7, false)[1], '// dupi:ignore')
  shows(refund, { '13 lines duplicated in 1 other place: cart/total.go:24' })
  vim.cmd('silent undo')
  shows(total, { REFUND, LABEL })
end)

test(':Dupi ignore class writes into dupi.toml, which counts when it is saved', function()
  vim.api.nvim_win_set_cursor(0, { 6, 0 })
  vim.cmd('Dupi ignore class')
  eventually('dupi.toml', function()
    return vim.fn.expand('%:t') == 'dupi.toml' and vim.bo.modified
  end)
  vim.cmd('silent write')
  shows(total, { LABEL })
  vim.cmd('close')
  os.remove(workspace .. '/dupi.toml')
  shows(total, { REFUND, LABEL })
end)

test('what cannot be done is said', function()
  vim.api.nvim_win_set_cursor(0, { 18, 0 })
  vim.cmd('Dupi copies')
  is_said('no copy here')
  vim.cmd('Dupi compare')
  is_said('no copy here')
  vim.cmd('Dupi nonsense')
  is_said('no nonsense; there are: compare, copies')
  vim.cmd('enew')
  vim.cmd('Dupi next')
  is_said('does not look at this file')
  vim.cmd.buffer(total)
end)

test(':Dupi status says how many files and classes there are', function()
  eventually('the status', function()
    vim.cmd('Dupi status')
    return said[#said] and said[#said]:find('idle, files: 3, classes of copies: 2')
  end)
end)

test(':Dupi report opens a page, or says why there is none', function()
  local config = vim.lsp.get_clients({ name = 'dupi' })[1].config
  local real = config.cmd[1]
  -- Stands in for a server that makes one: what it was asked is the page.
  config.cmd[1] = vim.fn.tempname()
  vim.fn.writefile({ '#!/bin/sh', 'echo "$1 $2 $3" > "$4"' }, config.cmd[1])
  vim.fn.setfperm(config.cmd[1], 'rwx------')
  vim.cmd('Dupi report')
  eventually('a page', function()
    return #opened == 1
  end)
  equal(vim.fn.readfile(opened[1]), { ('report %s -o'):format(workspace) })
  config.cmd[1] = real
  config.root_dir = workspace .. '/nowhere'
  vim.cmd('Dupi report')
  is_said('no report: .')
  config.cmd[1] = 'no-such-dupi'
  vim.cmd('Dupi report')
  is_said('no report: .*no%-such%-dupi')
  config.cmd[1], config.root_dir = real, workspace
end)

test(':Dupi is completed', function()
  local all = { 'compare', 'copies', 'ignore', 'next', 'prev', 'report', 'status' }
  equal(vim.fn.getcompletion('Dupi ', 'cmdline'), all)
  equal(vim.fn.getcompletion('Dupi co', 'cmdline'), { 'compare', 'copies' })
  equal(vim.fn.getcompletion('Dupi ignore ', 'cmdline'), { 'class' })
end)

local function checked()
  vim.cmd('silent checkhealth dupi')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  vim.cmd('bwipeout')
  return text
end

test(':checkhealth dupi finds nothing wrong', function()
  local text = checked()
  assert(text:find('dupi%-lsp %d+%.%d+%.%d+') and text:find('the server runs for ', 1, true), text)
  assert(text:find('nothing needs attention', 1, true), text)
  assert(not text:find('ERROR') and not text:find('WARN'), text)
end)

test(':checkhealth dupi has what the doctor says, to paste into an issue', function()
  vim.fn.writefile({ 'min-tokens = "many"' }, workspace .. '/dupi.toml')
  local text = checked()
  os.remove(workspace .. '/dupi.toml')
  assert(text:find('WARN') and text:find('dupi.toml:1', 1, true) and text:find('mend it', 1, true), text)
  assert(text:find('workspace +~') and text:find('watching +'), text)
end)

test(':checkhealth dupi says what to do without a server', function()
  vim.g.dupi = { cmd = { 'no-such-dupi' } }
  local text = checked()
  assert(text:find('ERROR') and text:find('no-such-dupi cannot be run', 1, true), text)
  vim.g.dupi = { cmd = { server } }
end)

test('the help has its tags', function()
  vim.cmd('helptags ' .. plugin .. '/doc')
  local tags = vim.fn.readfile(plugin .. '/doc/tags')
  for _, tag in ipairs({ 'dupi.txt', ':Dupi', 'dupi-compare', 'dupi-settings' }) do
    vim.cmd('help ' .. tag)
    assert(vim.fn.expand('%:t') == 'dupi.txt' and #tags > 5, tag)
    vim.cmd('helpclose')
  end
  os.remove(plugin .. '/doc/tags')
end)

local function stop()
  for _, client in ipairs(vim.lsp.get_clients({ name = 'dupi' })) do
    client.stop(vim.lsp.enable and client)
  end
  eventually('the end', function()
    return #vim.lsp.get_clients() == 0
  end)
end

test('a server that finds its index shows lenses, too', function()
  stop()
  vim.cmd('silent %bwipeout!')
  local again = open('total.go')
  shows(again, { REFUND, LABEL })
  eventually('a drawn lens', function()
    return is_drawn(again, '⧉ 1 copy · 11 lines · renamed')
  end)
end)

test('the server ends when it is told to', function()
  stop()
end)

io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
vim.cmd(failed == 0 and 'qa!' or 'cquit 1')
