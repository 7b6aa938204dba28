//! From a sequence in which two sides differ to a smaller one, by taking out stretches.

/// Takes out stretches, from half of all down to single ones. `attempt` gets the places of what is left: if that still
/// differs it says how many of them it takes to see it.
pub(crate) fn cut(
    mut left: Vec<usize>,
    mut attempt: impl FnMut(&[usize]) -> Option<usize>,
) -> Vec<usize> {
    let mut size = left.len().div_ceil(2);
    while size > 0 {
        let mut any = false;
        let mut end = left.len();
        while end > 0 {
            let begin = end.saturating_sub(size);
            let mut rest = left.clone();
            rest.drain(begin..end);
            if let Some(needed) = attempt(&rest) {
                rest.truncate(needed);
                left = rest;
                any = true;
            }
            end = begin.min(left.len());
        }
        // A cut may make others possible that were not before.
        size = if size > 1 { size / 2 } else { usize::from(any) };
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_left() {
        let needed = [3, 11, 12];
        let mut attempts = 0;
        let left = cut((0..40).collect(), |left| {
            attempts += 1;
            let last = left.iter().position(|at| *at == needed[2]);
            needed
                .iter()
                .all(|at| left.contains(at))
                .then_some(last? + 1)
        });
        assert_eq!(left, needed);
        assert!(attempts < 60, "{attempts}");
    }
}
