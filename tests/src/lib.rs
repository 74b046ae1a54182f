//! Black-box tests of dupi-lsp: what they share.

pub mod binary;
pub mod differential;
pub mod sources;
pub mod workspace;
