-- Where Neovim 0.11 and later look for what |vim.lsp.enable()| names.
return require('dupi').config()
