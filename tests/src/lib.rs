//! Black-box tests of dupi-lsp: what they share.

pub mod differential;
pub mod sources;
