//! `sync.WaitGroup`: several things at once, until all of them are done.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// One of them.
pub type Member<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Goroutines that somebody waits for.
struct Group<'a, T> {
    running: Vec<Member<'a, T>>,
    done: Vec<T>,
}

/// Runs them all. What they answer comes in the order in which they were done, those of one moment in the order in
/// which they were begun.
pub async fn wait_group<T: Unpin>(all: Vec<Member<'_, T>>) -> Vec<T> {
    let done = Vec::with_capacity(all.len());
    Group { running: all, done }.await
}

impl<T: Unpin> Future for Group<'_, T> {
    type Output = Vec<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Vec<T>> {
        let Group { running, done } = &mut *self;
        running.retain_mut(|one| match one.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(value) => {
                done.push(value);
                false
            }
        });
        match running.is_empty() {
            true => Poll::Ready(std::mem::take(done)),
            false => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    /// Done when it was looked at so often.
    async fn later(times: u32) -> u32 {
        for _ in 0..times {
            let mut seen = false;
            std::future::poll_fn(|_| match std::mem::replace(&mut seen, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
        times
    }

    #[test]
    fn answers_come_in_the_order_in_which_they_are_ready() {
        let all = [2, 0, 1, 0].map(|times| Box::pin(later(times)) as Member<'_, u32>);
        let mut group = Box::pin(wait_group(all.into()));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(group.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(group.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(group.as_mut().poll(&mut cx), Poll::Ready(vec![0, 0, 1, 2]));
    }
}
