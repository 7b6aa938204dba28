//! Futures of two futures. Each holds its parts in place, once: a part that an `async fn` takes is held twice, as its
//! argument and where it is awaited, and routines are made anew and moved so often that their size counts.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::routine::Either;

pin_project! {
    /// [`Rx::select`](crate::Rx::select)
    pub(crate) struct Select<A, B> {
        #[pin]
        first: A,
        #[pin]
        second: B,
    }
}

impl<A, B> Select<A, B> {
    pub fn new(first: A, second: B) -> Select<A, B> {
        Select { first, second }
    }
}

impl<A: Future, B: Future> Future for Select<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let own = self.project();
        if let Poll::Ready(value) = own.first.poll(cx) {
            return Poll::Ready(Either::Left(value));
        }
        own.second.poll(cx).map(Either::Right)
    }
}

pin_project! {
    /// [`Rx::join`](crate::Rx::join)
    pub(crate) struct Join<A: Future, B: Future> {
        #[pin]
        first: A,
        #[pin]
        second: B,
        values: (Option<A::Output>, Option<B::Output>),
    }
}

impl<A: Future, B: Future> Join<A, B> {
    pub fn new(first: A, second: B) -> Join<A, B> {
        Join {
            first,
            second,
            values: (None, None),
        }
    }
}

impl<A: Future, B: Future> Future for Join<A, B> {
    type Output = (A::Output, B::Output);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let own = self.project();
        if own.values.0.is_none()
            && let Poll::Ready(value) = own.first.poll(cx)
        {
            own.values.0 = Some(value);
        }
        if own.values.1.is_none()
            && let Poll::Ready(value) = own.second.poll(cx)
        {
            own.values.1 = Some(value);
        }
        match std::mem::take(own.values) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            some => {
                *own.values = some;
                Poll::Pending
            }
        }
    }
}

pin_project! {
    /// [`Rx::timeout`](crate::Rx::timeout)
    pub(crate) struct Timeout<F, S> {
        #[pin]
        of: Select<F, S>,
    }
}

impl<F, S> Timeout<F, S> {
    pub fn new(of: Select<F, S>) -> Timeout<F, S> {
        Timeout { of }
    }
}

impl<F: Future, S: Future> Future for Timeout<F, S> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().of.poll(cx).map(|either| match either {
            Either::Left(value) => Some(value),
            Either::Right(_) => None,
        })
    }
}
