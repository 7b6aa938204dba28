//! Sets of switches, and how flags compose one.

use std::cell::Cell;
use std::fmt;

use crate::table::{Kind, Place, Reconciler, Switch, SwitchInfo};
use crate::{EtcdRelease, Release};

thread_local! {
    /// Nothing that is simulated sees it: it is for reports.
    static PASSED: Cell<Switches> = const { Cell::new(Switches::NONE) };
}

/// The switches that are on in one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Switches(u128);

/// Notes that the place of a switch is passed, for code that is told whether it is `on` instead of asking
/// [`Switches::has`].
pub fn passed(switch: Switch, on: bool) -> bool {
    PASSED.set(PASSED.get().with(switch, true));
    on
}

impl Switches {
    /// None.
    pub const NONE: Switches = Switches(0);

    /// Is it on? Asked where it makes a difference, after all other conditions: that its place was passed is noted.
    pub fn has(self, switch: Switch) -> bool {
        passed(switch, self.contains(switch))
    }

    /// The switches whose places this thread has passed since it was asked last.
    pub fn take_passed() -> Switches {
        PASSED.take()
    }

    /// Is it in the set?
    pub fn contains(self, switch: Switch) -> bool {
        self.0 >> switch as u8 & 1 == 1
    }

    /// With this one on or off.
    pub fn with(self, switch: Switch, on: bool) -> Switches {
        let bit = 1 << switch as u8;
        Switches(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Those that are on.
    pub fn iter(self) -> impl Iterator<Item = Switch> {
        let all = Switch::TABLE.iter().map(|info| info.switch);
        all.filter(move |switch| self.contains(*switch))
    }

    /// What `release` shipped with.
    pub fn of(release: Release) -> Switches {
        Switch::TABLE
            .iter()
            .filter(|info| info.ships.contains(&release))
            .fold(Switches::NONE, |on, info| on.with(info.switch, true))
    }

    /// What `release` of etcd shipped with.
    pub fn of_etcd(release: EtcdRelease) -> Switches {
        let ships = |info: &&SwitchInfo| info.etcd.iter().any(|line| line.contains(release));
        Switch::TABLE
            .iter()
            .filter(ships)
            .fold(Switches::NONE, |on, info| on.with(info.switch, true))
    }

    /// All defects off and all fixes on: the algorithms as if every known problem were mended.
    pub fn fixed() -> Switches {
        Switch::TABLE
            .iter()
            .filter(|info| info.kind == Kind::Fix)
            .fold(Switches::NONE, |on, info| on.with(info.switch, true))
    }
}

impl fmt::Debug for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.iter().map(|s| s.info().name))
            .finish()
    }
}

/// What flags ask for: a release, minus `without`, plus `defects`; or all that is mended, plus
/// `defects`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composition {
    /// All defects off and all fixes on, to begin with.
    pub fixed: bool,
    /// Switched on.
    pub on: Vec<Switch>,
    /// Switched off.
    pub off: Vec<Switch>,
}

/// A switch that has no place in the algorithms of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The switch.
    pub switch: Switch,
    /// Why.
    pub why: String,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.switch.info().name, self.why)
    }
}
impl std::error::Error for Unfit {}

impl Composition {
    /// The switches of a process of `release`.
    pub fn switches(&self, release: Release) -> Switches {
        let base = match self.fixed {
            true => Switches::fixed(),
            false => Switches::of(release),
        };
        let without = self.off.iter().fold(base, |on, s| on.with(*s, false));
        self.on
            .iter()
            .filter(|s| s.info().fits.contains(&release))
            .fold(without, |on, s| on.with(*s, true))
    }

    /// The switches of an etcd of `release`.
    pub fn etcd(&self, release: EtcdRelease) -> Switches {
        let base = match self.fixed {
            true => Switches::NONE,
            false => Switches::of_etcd(release),
        };
        let of_etcd = |s: &&Switch| !s.info().etcd.is_empty();
        let without = self.off.iter().fold(base, |on, s| on.with(*s, false));
        let on = self.on.iter().filter(of_etcd);
        on.fold(without, |on, s| on.with(*s, true))
    }

    /// Has every switch that is asked for a place somewhere in these releases and reconcilers, and in
    /// these parts of the world?
    ///
    /// # Errors
    /// The first that has none.
    pub fn check(
        &self,
        releases: &[Release],
        reconcilers: &[Reconciler],
        places: &[Place],
    ) -> Result<(), Unfit> {
        for switch in self.on.iter().copied() {
            let info = switch.info();
            if !info.etcd.is_empty() {
                continue; // there is always an etcd
            }
            if !places.contains(&info.place) {
                let place = match info.place {
                    Place::Server => "apiservers",
                    Place::WatchCache => "watch caches of apiservers",
                    Place::Informer => "informers",
                    Place::Etcd => "etcd",
                    Place::Services => "ranges for Services",
                    Place::Election => "controller managers",
                    Place::Identity => "identities of apiservers",
                };
                let why = format!("has a place only in {place}, and there are none");
                return Err(Unfit { switch, why });
            }
            if !releases.iter().any(|r| info.fits.contains(r)) {
                let why = "has no place in the algorithms of this release".to_owned();
                return Err(Unfit { switch, why });
            }
            if let Some(needed) = info.reconciler
                && !reconcilers.contains(&needed)
            {
                let why = format!(
                    "has a place only with `endpoint-reconciler-type: {}`",
                    needed.name()
                );
                return Err(Unfit { switch, why });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_compose() {
        let last = Switch::LastApiserverKeepsAddress;
        let fix = Switch::FixRetryRemoveEndpoints;
        let plain = Composition::default();
        assert!(plain.switches(Release::V1_20).has(last));
        assert!(!plain.switches(Release::V1_36).has(last));
        let without = Composition {
            off: vec![last],
            ..Composition::default()
        };
        assert!(!without.switches(Release::V1_20).has(last));
        let fixed = Composition {
            fixed: true,
            on: vec![last],
            ..Composition::default()
        };
        assert!(
            fixed.switches(Release::V1_36).has(last) && fixed.switches(Release::V1_36).has(fix)
        );
        assert!(
            !fixed
                .switches(Release::V1_20)
                .has(Switch::ListenerClosesBeforeRemoval)
        );
    }

    #[test]
    fn a_switch_without_a_place_is_refused() {
        let composition = Composition {
            on: vec![Switch::MasterCountKeepsCrashed],
            ..Composition::default()
        };
        let lease = composition.check(&[Release::V1_20], &[Reconciler::Lease], &[Place::Server]);
        assert!(lease.unwrap_err().to_string().contains("master-count"));
        assert_eq!(
            composition.check(
                &[Release::V1_20],
                &[Reconciler::MasterCount],
                &[Place::Server]
            ),
            Ok(())
        );
    }
}
