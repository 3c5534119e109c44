//! Queueing on any engine: commands that wait, batches of commands, permits of reads, and retries.

pub(crate) mod commit_batch;
pub(crate) mod commit_scope;
pub(crate) mod listeners;
pub(crate) mod parked_replays;
pub(crate) mod queue;
#[cfg(test)]
mod samples;
pub(crate) mod sequence;
pub(crate) mod token_uses;
