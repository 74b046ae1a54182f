--- What `:Dupi` does. The server finds the copies; this shows them as Neovim shows such things.
local M = {}

local function say(message)
  vim.notify('dupi: ' .. message)
end

local function fail(message)
  vim.notify('dupi: ' .. message, vim.log.levels.ERROR)
end

-- ---- the server

--- What the user has set, in the way that works for every version: see |dupi-settings|.
local function set(key, default)
  local value = (vim.g.dupi or {})[key]
  return value == nil and default or value
end

function M.config()
  return {
    name = 'dupi',
    cmd = set('cmd', { 'dupi-lsp' }),
    settings = set('settings'),
    root_markers = { 'dupi.toml', '.git' },
    -- stylua: ignore
    filetypes = {
      'bash', 'c', 'cpp', 'cs', 'go', 'java', 'javascript', 'javascriptreact', 'kotlin', 'lua', 'php', 'python', 'ruby',
      'rust', 'scala', 'sh', 'swift', 'typescript', 'typescriptreact',
    },
    -- Asked to pull again, Neovim 0.12 passes over the files that are open; so it is not asked, and is pushed them.
    capabilities = vim.lsp.enable and { workspace = { diagnostics = { refreshSupport = false } } } or nil,
    -- What lenses and code actions ask an editor to do.
    commands = {
      ['dupi.showCopies'] = function(command, context)
        M.show(command.arguments[3], command.title, context.client_id)
      end,
      ['dupi.compare'] = function(command)
        M.compare(command.arguments[1], command.arguments[2])
      end,
    },
    on_attach = function(client, buf)
      M.show_lenses(client, buf)
    end,
  }
end

--- Neovim 0.10 starts servers by hand.
function M.start_on_filetype()
  local config = M.config()
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('dupi', {}),
    pattern = config.filetypes,
    callback = function(event)
      local is_file = vim.bo[event.buf].buftype == '' and vim.api.nvim_buf_get_name(event.buf) ~= ''
      -- As later versions do, nothing is said of a server that is not there; |:checkhealth| does.
      if is_file and vim.fn.executable(config.cmd[1]) == 1 then
        local root = vim.fs.root(event.buf, config.root_markers)
        vim.lsp.start(vim.tbl_extend('force', config, { root_dir = root }), { bufnr = event.buf })
      end
    end,
  })
end

function M.show_lenses(client, buf)
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { client_id = client.id })
    return
  end
  -- Older versions ask for lenses when they are told to. The copies are new whenever the diagnostics are.
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'DiagnosticChanged' }, {
    group = vim.api.nvim_create_augroup('dupi.lenses.' .. buf, {}),
    buffer = buf,
    callback = function()
      vim.lsp.codelens.refresh({ bufnr = buf })
    end,
  })
  vim.lsp.codelens.refresh({ bufnr = buf })
end

local function request(client, method, params, buf, answered)
  local function handler(err, result)
    if err then
      fail(err.message)
    else
      answered(result)
    end
  end
  if vim.fn.has('nvim-0.11') == 1 then
    client:request(method, params, handler, buf)
  else
    client.request(method, params, handler, buf)
  end
end

--- The copies in a buffer, in the order of their lines: locations (this one first), and the edits that ignore it.
--- All actions of a buffer are asked for, since these do not depend on whether lenses or diagnostics are shown.
local function copies_in(buf, answered)
  local client = vim.lsp.get_clients({ bufnr = buf, name = 'dupi' })[1]
  if not client then
    return fail('the server does not look at this file; :checkhealth dupi tells more')
  end
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buf),
    range = {
      start = { line = 0, character = 0 },
      ['end'] = { line = vim.api.nvim_buf_line_count(buf), character = 0 },
    },
    context = { diagnostics = {}, only = { 'quickfix' } },
  }
  request(client, 'textDocument/codeAction', params, buf, function(actions)
    local copies = {}
    for _, action in ipairs(actions or {}) do
      local command = action.command
      if command and command.command == 'dupi.showCopies' and #command.arguments[3] > 1 then
        table.insert(copies, { title = action.title, locations = command.arguments[3], client = client, ignore = {} })
      elseif action.edit and #copies > 0 then
        -- Behind the action that shows all: first for this copy, then for the class.
        table.insert(copies[#copies].ignore, action.edit)
      end
    end
    answered(copies)
  end)
end

--- The first and the last line of a location, from 1.
local function lines_of(location)
  local first, last = location.range.start, location.range['end']
  local is_whole = last.character == 0 and last.line > first.line
  return first.line + 1, is_whole and last.line or last.line + 1
end

local function name_of(location)
  local path = vim.fn.fnamemodify(vim.uri_to_fname(location.uri), ':.')
  return ('%s:%d-%d'):format(path, lines_of(location))
end

--- The copies that the cursor is in, the shortest first.
local function copies_here(answered)
  local buf, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  copies_in(buf, function(copies)
    local here, length = {}, {}
    for _, copy in ipairs(copies) do
      local first, last = lines_of(copy.locations[1])
      if first <= line and line <= last then
        length[copy] = last - first
        table.insert(here, copy)
      end
    end
    table.sort(here, function(a, b)
      return length[a] < length[b]
    end)
    if #here == 0 then
      return say(#copies == 0 and 'no copies in this file' or 'no copy here; :Dupi next goes to one')
    end
    answered(here)
  end)
end

--- One of several, which the user chooses.
local function choose(items, prompt, format, chosen)
  if #items == 1 then
    return chosen(items[1])
  end
  vim.ui.select(items, { prompt = prompt, format_item = format }, function(item)
    if item then
      chosen(item)
    end
  end)
end

local function choose_copy(chosen)
  copies_here(function(copies)
    choose(copies, 'Which copy?', function(copy)
      return ('%s of %s'):format(copy.title, name_of(copy.locations[1]))
    end, chosen)
  end)
end

-- ---- what is shown

--- A list of locations; a single one is gone to.
function M.show(locations, title, client_id)
  local encoding = vim.lsp.get_client_by_id(client_id).offset_encoding
  if #locations == 1 then
    return vim.lsp.util.show_document(locations[1], encoding, { focus = true })
  end
  local list = { title = 'dupi: ' .. title, items = vim.lsp.util.locations_to_items(locations, encoding) }
  if set('list', 'quickfix') == 'location' then
    vim.fn.setloclist(0, {}, ' ', list)
    vim.cmd('lopen')
  else
    vim.fn.setqflist({}, ' ', list)
    vim.cmd('botright copen')
  end
end

--- The lines of a location, as they are being edited, without the blanks that all of them start with: how deep code
--- stands is no difference.
local function text_of(location)
  local first, last = lines_of(location)
  local buf, lines = vim.fn.bufnr(vim.uri_to_fname(location.uri)), nil
  if buf ~= -1 and vim.api.nvim_buf_is_loaded(buf) then
    lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  else
    lines = vim.list_slice(vim.fn.readfile(vim.uri_to_fname(location.uri), '', last), first)
  end
  local indent
  for i, line in ipairs(lines) do
    lines[i] = line:gsub('\r$', '')
    if line:find('%S') then
      local blanks = line:match('^%s*')
      while indent and not vim.startswith(blanks, indent) do
        indent = indent:sub(1, -2)
      end
      indent = indent or blanks
    end
  end
  return vim.tbl_map(function(line)
    return line:sub(#(indent or '') + 1)
  end, lines)
end

--- The two fragments beside each other in a tab of their own; `q` closes it.
function M.compare(own, other)
  vim.cmd('tabnew')
  for i, location in ipairs({ own, other }) do
    if i == 2 then
      vim.cmd('rightbelow vnew')
    end
    local buf, path = vim.api.nvim_get_current_buf(), vim.uri_to_fname(location.uri)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, text_of(location))
    vim.bo[buf].buftype = 'nofile'
    vim.bo[buf].bufhidden = 'wipe'
    vim.bo[buf].swapfile = false
    vim.bo[buf].modifiable = false
    -- Not 'filetype', which would start servers for what is no file.
    vim.bo[buf].syntax = vim.filetype.match({ filename = path }) or ''
    -- The same two may be open in another tab.
    local name, n = 'dupi://' .. name_of(location), 1
    while not pcall(vim.api.nvim_buf_set_name, buf, n == 1 and name or ('%s (%d)'):format(name, n)) do
      n = n + 1
    end
    vim.keymap.set('n', 'q', '<Cmd>tabclose<CR>', { buffer = buf, desc = 'Close the comparison' })
    vim.cmd('diffthis')
  end
  vim.cmd('wincmd p')
end

-- ---- subcommands

local function jump(is_next)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  copies_in(vim.api.nvim_get_current_buf(), function(copies)
    local nearest, wrapped
    for _, copy in ipairs(copies) do
      local first = lines_of(copy.locations[1])
      if is_next then
        nearest = nearest or (first > line and first or nil)
        wrapped = wrapped or first
      else
        nearest = first < line and first or nearest
        wrapped = first
      end
    end
    if not wrapped then
      return say('no copies in this file')
    end
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { nearest or wrapped, 0 })
    vim.cmd('normal! ^')
  end)
end

local function any_client()
  local buf = vim.api.nvim_get_current_buf()
  return vim.lsp.get_clients({ bufnr = buf, name = 'dupi' })[1] or vim.lsp.get_clients({ name = 'dupi' })[1]
end

local subcommands = {
  copies = function()
    choose_copy(function(copy)
      M.show(copy.locations, copy.title, copy.client.id)
    end)
  end,
  compare = function(n)
    copies_here(function(copies)
      local pairs_of = {}
      for _, copy in ipairs(copies) do
        for i = 2, #copy.locations do
          table.insert(pairs_of, { copy.locations[1], copy.locations[i] })
        end
      end
      if n then
        local pair = pairs_of[tonumber(n)]
        return pair and M.compare(pair[1], pair[2]) or fail(('no copy %s: there are %d'):format(n, #pairs_of))
      end
      choose(pairs_of, 'Compare with', function(pair)
        return name_of(pair[2])
      end, function(pair)
        M.compare(pair[1], pair[2])
      end)
    end)
  end,
  next = function()
    jump(true)
  end,
  prev = function()
    jump(false)
  end,
  ignore = function(what)
    if what and what ~= 'class' then
      return fail(('ignore %s: only "class" may follow'):format(what))
    end
    choose_copy(function(copy)
      local edit = copy.ignore[what == 'class' and 2 or 1]
      if not edit then
        return fail('the server has no edit for this')
      end
      vim.lsp.util.apply_workspace_edit(edit, copy.client.offset_encoding)
      if what == 'class' then
        -- To be looked at: the reason is for a person to say, and it counts once it is saved.
        vim.cmd.split(copy.client.config.root_dir .. '/dupi.toml')
        vim.cmd('normal! G')
      end
    end)
  end,
  report = function()
    local client = any_client()
    local root = client and client.config.root_dir or vim.fs.root(0, M.config().root_markers) or vim.uv.cwd()
    local program = client and client.config.cmd[1] or M.config().cmd[1]
    if vim.fn.executable(program) == 0 then
      return fail(('no report: %s cannot be run'):format(program))
    end
    local page = vim.fn.tempname() .. '.html'
    vim.system({ program, 'report', root, '-o', page }, { text = true }, vim.schedule_wrap(function(done)
      if done.code ~= 0 then
        return fail('no report: ' .. vim.trim(done.stderr))
      end
      local _, problem = vim.ui.open(page)
      if problem then
        fail(('the report is in %s, but: %s'):format(page, problem))
      end
    end))
  end,
  status = function()
    local client = any_client()
    if not client then
      return fail('the server does not run; :checkhealth dupi tells more')
    end
    request(client, 'workspace/executeCommand', { command = 'dupi.status' }, nil, function(status)
      local classes = status.classes == vim.NIL and '' or (', classes of copies: %d'):format(status.classes)
      say(('%s, files: %d%s'):format(status.state, status.files, classes))
    end)
  end,
}

function M.run(arguments)
  local subcommand = subcommands[arguments[1] or 'status']
  if subcommand then
    subcommand(arguments[2])
  else
    fail(('no %s; there are: %s'):format(arguments[1], table.concat(M.complete('', 'Dupi '), ', ')))
  end
end

function M.complete(lead, line)
  local is_first = #vim.split(line, '%s+', { trimempty = true }) < (lead == '' and 2 or 3)
  local all = is_first and vim.tbl_keys(subcommands) or (line:find('ignore') and { 'class' } or {})
  table.sort(all)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, all)
end

return M
