//! Components whose processes are no values.

/// Where worlds are simulated that hold something which cannot be copied, and which leaves traces in a process of the
/// operating system: programs that were not written for a simulation. Whoever simulates such a world asks its case for
/// this ([`Component::apart`](crate::Component::apart)), and does it there.
pub trait Apart: Send + Sync {
    /// Why there can be no copy of a world, in one line: told to whoever wants to go back in time, or to search.
    fn why(&self) -> &'static str;

    /// Does the work in a process of its own, begun for it and ended with it, and hands over what it returns. `None` if
    /// `stop` said so meanwhile.
    ///
    /// # Errors
    /// If that process ended otherwise, or did not end: why, for people.
    fn in_process(
        &self,
        work: &mut (dyn FnMut() -> Vec<u8> + Send),
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, String>;

    /// Does the work in this process, on a thread that is prepared for it. Only the first time in a process it is sure to
    /// be what it would be in a process of its own.
    fn on_thread(&self, work: &mut dyn FnMut());
}
