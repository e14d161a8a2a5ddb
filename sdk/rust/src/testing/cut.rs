//! Calls that are cut off inside, as a killed process cuts them.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Where a call was when it was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Cut {
    /// Inside: it did not go on.
    Inside,
    /// At its end: its answer is lost.
    Ended,
}

/// Cuts a call at the wait of this number: 0, before it has begun; 1, at the first `await` that has to wait, and so on.
///
/// What it waits for is let come, so that the upstream has done it and only the plugin does not know. A call with fewer waits goes to its
/// end, and its answer is lost.
pub async fn cut_at_wait<F: Future>(wait: usize, call: F) -> Cut {
    let mut call = pin!(call);
    let mut waits = 0;
    poll_fn(|context| {
        // Polled again, so what it waited for has come.
        if waits == wait {
            return Poll::Ready(Cut::Inside);
        }
        waits += 1;
        call.as_mut().poll(context).map(|_lost| Cut::Ended)
    })
    .await
}

/// Cuts a call at the first wait at which this is so: `cut_once(|| cloud.len() == 1, thing.create())` is cut when the upstream has created
/// it. A call that ends before goes to its end, and its answer is lost.
pub async fn cut_once<F: Future>(mut so: impl FnMut() -> bool, call: F) -> Cut {
    let mut call = pin!(call);
    poll_fn(|context| {
        if so() {
            return Poll::Ready(Cut::Inside);
        }
        match call.as_mut().poll(context) {
            Poll::Ready(_lost) => Poll::Ready(Cut::Ended),
            Poll::Pending if so() => Poll::Ready(Cut::Inside),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::task::yield_now;

    use super::*;

    async fn steps(done: &Cell<usize>) {
        for _ in 0..2 {
            done.set(done.get() + 1);
            yield_now().await;
        }
        done.set(done.get() + 1);
    }

    #[tokio::test]
    async fn a_call_is_cut_at_each_of_its_waits() {
        let mut course = Vec::new();
        for wait in 0..5 {
            let done = Cell::new(0);
            let cut = cut_at_wait(wait, steps(&done)).await;
            course.push((cut, done.get()));
        }
        let expected = [
            (Cut::Inside, 0),
            (Cut::Inside, 1),
            (Cut::Inside, 2),
            (Cut::Ended, 3),
            (Cut::Ended, 3),
        ];
        assert_eq!(course, expected);
    }

    #[tokio::test]
    async fn a_call_is_cut_when_something_is_so() {
        for (limit, expected) in [(0, (Cut::Inside, 0)), (2, (Cut::Inside, 2)), (9, (Cut::Ended, 3))] {
            let done = Cell::new(0);
            let cut = cut_once(|| done.get() >= limit, steps(&done)).await;
            assert_eq!((cut, done.get()), expected);
        }
    }
}
