//! Copies of lists that are about to grow: whoever copies a world is about to step it.

/// A copy with room for a few more.
pub(crate) fn with_room<T: Clone>(list: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity(list.len() + 4);
    copy.extend_from_slice(list);
    copy
}
