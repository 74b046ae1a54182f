//! What the fuzzer is made of: workspaces drawn by a seed, what is done to them, and what must hold.
//!
//! `tests/fuzz` runs it. All inputs are the frozen files of `tests/fixtures`, so a seed repeats for as long as neither
//! these nor this module change.

pub mod agreement;
pub mod answer;
pub mod corpus;
pub mod ground;
pub mod laws;
pub mod mutations;
pub mod outline;
pub mod weather;
