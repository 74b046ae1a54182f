//! Black-box tests of dupi-lsp: what they share.

pub mod alignment;
pub mod answers;
pub mod binary;
pub mod differential;
pub mod editor;
pub mod fuzz;
pub mod history;
pub mod inputs;
pub mod planting;
pub mod repository;
pub mod since;
pub mod sources;
pub mod workspace;
