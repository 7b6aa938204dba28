//! Range requests: `etcdserver/txn/range.go` over `mvcc/kvstore_txn.go`. How an old revision is
//! found is in `store`.

use crate::api::{EtcdError, KeyValue, Keys, Order, Range, Ranged, Revision, SortBy, Value};
use wavetank_engine::mutant;

use super::store::{Store, at_or_after};

/// What the index found, and how many there are without the limit.
struct Found<'a, V> {
    kvs: Vec<&'a KeyValue<V>>,
    count: u64,
}

impl<V: Value> Store<V> {
    /// Reads keys.
    ///
    /// # Errors
    /// `FutureRevision`, or `Compacted` below the compact revision.
    pub fn range(&self, range: &Range) -> Result<Ranged<V>, EtcdError> {
        self.check_revision(range.revision)?;
        Ok(self.read(range, self.revision))
    }

    /// As `range`, of a revision that can be read; `header` is what the answer calls the newest.
    pub(super) fn read(&self, range: &Range, header: Revision) -> Ranged<V> {
        let mut answer = Ranged {
            revision: header,
            kvs: Vec::new(),
            more: false,
            count: 0,
        };
        if range.count_only {
            answer.count = self.fetch(&range.keys, range.revision, Some(0)).count;
            return answer;
        }
        let Found { mut kvs, count } = self.fetch(&range.keys, range.revision, fetch_limit(range));
        kvs.retain(|kv| within_bounds(range, kv));
        sort(range, &mut kvs);
        if range.limit > 0 && kvs.len() as u64 > range.limit {
            kvs.truncate(range.limit as usize);
            answer.more = !mutant!(
                "range-hides-more",
                "a range that was cut off does not say that there is more"
            );
        }
        answer.count = match count > kvs.len() as u64
            && mutant!(
                "count-of-the-page",
                "a range counts what it returns, not what there is"
            ) {
            true => kvs.len() as u64,
            false => count,
        };
        answer.kvs = kvs
            .into_iter()
            .map(|kv| match range.keys_only {
                true => without_value(kv),
                false => kv.clone(),
            })
            .collect();
        answer
    }

    /// The first `limit` keys by name (`None`: all) at a revision (0: now).
    fn fetch<'a>(&'a self, keys: &'a Keys, revision: Revision, limit: Option<u64>) -> Found<'a, V> {
        let limit = limit.map_or(usize::MAX, |limit| limit as usize);
        if revision == 0
            || revision == self.revision
            || mutant!(
                "range-ignores-revision",
                "a range answers from the present whatever revision it names"
            )
        {
            let (mut kvs, mut count) = (Vec::new(), 0);
            for kv in self.iter(keys) {
                if kvs.len() < limit {
                    kvs.push(kv);
                }
                count += 1;
            }
            return Found { kvs, count };
        }
        let unchanged = self.iter(keys).filter(|kv| kv.mod_revision <= revision);
        let pasts = self.past.range::<_, str>(at_or_after(keys));
        let changed = pasts
            .take_while(|(key, _)| keys.contains(key))
            .filter_map(|(_, pasts)| self.past_at(pasts, revision));
        let mut kvs: Vec<&KeyValue<V>> = unchanged.chain(changed).collect();
        kvs.sort_by(|a, b| a.key.cmp(&b.key));
        let count = kvs.len() as u64;
        kvs.truncate(limit);
        Found { kvs, count }
    }
}

/// How many keys the index is asked for: the limit and one, which tells whether there are more;
/// all, if what is wanted can only be told after that.
fn fetch_limit(range: &Range) -> Option<u64> {
    let bounds = [
        range.min_mod,
        range.max_mod,
        range.min_create,
        range.max_create,
    ];
    let all = range.limit == 0 || range.order.is_some() || bounds.iter().any(|b| *b != 0);
    (!all).then(|| range.limit.saturating_add(1))
}

fn within_bounds<V>(range: &Range, kv: &KeyValue<V>) -> bool {
    let within = |min, is, max| (min == 0 || min <= is) && (max == 0 || is <= max);
    within(range.min_mod, kv.mod_revision, range.max_mod)
        && within(range.min_create, kv.create_revision, range.max_create)
}

/// The kvs come in the order of keys. Another target without an order means ascending, but that
/// is no reason to fetch all: with a limit only the first keys by name are sorted, as upstream.
///
/// Ties keep the order of keys, which upstream's unstable sort does for a dozen keys at most.
fn sort<V: Value>(range: &Range, kvs: &mut [&KeyValue<V>]) {
    if range.order.is_none() && range.by == SortBy::Key {
        return;
    }
    let descend = range.order == Some(Order::Descend);
    kvs.sort_by(|a, b| {
        let (a, b) = if descend { (b, a) } else { (a, b) };
        match range.by {
            SortBy::Key => a.key.cmp(&b.key),
            SortBy::Version => a.version.cmp(&b.version),
            SortBy::Create => a.create_revision.cmp(&b.create_revision),
            SortBy::Mod => a.mod_revision.cmp(&b.mod_revision),
            SortBy::Value => a.value.order(&b.value),
        }
    });
}

fn without_value<V: Value>(kv: &KeyValue<V>) -> KeyValue<V> {
    KeyValue {
        key: kv.key.clone(),
        value: V::empty(),
        ..*kv
    }
}
