//! Large answers: each is held until its reader has taken it, within a budget for the whole process, so that
//! those who ask for much and take nothing cannot fill the memory.

use std::{io, sync::Arc};

use bytes::Bytes;
use futures_util::stream;
use poem::Body;
use tokio::sync::Semaphore;

use crate::{
    error::Error,
    limits::{ANSWER_PIECE_BYTES, LARGE_ANSWER_BUDGET_KIB, SMALL_ANSWER_BYTES},
};

/// Room for all large answers that are on their way, in KiB.
pub(crate) struct AnswerBudget(Arc<Semaphore>);

impl Default for AnswerBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LARGE_ANSWER_BUDGET_KIB as usize)))
    }
}

impl AnswerBudget {
    /// The body of an answer; a large one has its room until the last of it is sent, or nobody takes it.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room.
    pub(crate) fn hold(&self, text: String) -> Result<Body, Error> {
        if text.len() <= SMALL_ANSWER_BYTES {
            return Ok(text.into());
        }
        let kib = u32::try_from(text.len().div_ceil(1024)).unwrap_or(u32::MAX);
        let kib = kib.min(LARGE_ANSWER_BUDGET_KIB);
        let room = self.0.clone().try_acquire_many_owned(kib).map_err(|_| Error::Overloaded)?;
        let pieces = stream::unfold((Bytes::from(text), room), |(mut rest, room)| async move {
            let piece = rest.split_to(rest.len().min(ANSWER_PIECE_BYTES));
            (!piece.is_empty()).then_some((Ok::<_, io::Error>(piece), (rest, room)))
        });
        Ok(Body::from_bytes_stream(pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_answers_have_room_until_they_are_taken_or_given_up() {
        let budget = AnswerBudget::default();
        let half = "x".repeat(LARGE_ANSWER_BUDGET_KIB as usize * 1024 / 2);
        let first = budget.hold(half.clone()).unwrap();
        let second = budget.hold(half.clone()).unwrap();
        assert!(matches!(budget.hold(half.clone()), Err(Error::Overloaded)));
        assert!(budget.hold("x".repeat(SMALL_ANSWER_BYTES)).is_ok());
        assert!(first.into_string().await.unwrap() == half);
        let third = budget.hold(half.clone()).unwrap();
        drop(second);
        assert!(budget.hold(half).is_ok());
        drop(third);
    }
}
