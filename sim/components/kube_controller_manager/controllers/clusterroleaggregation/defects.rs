//! Mistakes in the controller that aggregates ClusterRoles, and the fix of one.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const SELECTS_ITSELF: Defect = Defect::known(
    "aggregated-roles-select-themselves",
    "a case of `syncClusterRole`, left out",
    "a role that its own selector finds keeps for ever what it has had once",
)
.ships(Gate::NEVER)
.fits_only(gates::CLUSTER_ROLE_AGGREGATION);

const RULES_ARE_ADDED_TWICE: Defect = Defect::known(
    "aggregated-rules-are-added-twice",
    "`ruleExists`, left out",
    "a rule that two roles have stands twice in the one that selects both",
)
.ships(Gate::NEVER)
.fits_only(gates::CLUSTER_ROLE_AGGREGATION);

const ROLES_WAKE_THEMSELVES: Defect = Defect::known(
    "roles-wake-themselves",
    "`enqueue`, of the role that has changed",
    "nobody looks at an aggregated role when one changes that it selects",
)
.ships(Gate::NEVER)
.fits_only(gates::CLUSTER_ROLE_AGGREGATION);

const SURPLUS_RULES_STAY: Defect = Defect::known(
    "surplus-rules-stay",
    "`DeepEqual` of `syncClusterRole`, taken for a subset",
    "an aggregated role keeps rules of roles that it does not select any more",
)
.ships(Gate::NEVER)
.fits_only(gates::CLUSTER_ROLE_AGGREGATION);

const FIX_APPLY_NO_RULES: Defect = Defect::fix(
    "fix-apply-no-rules",
    "FINDINGS.md, 56",
    "an aggregated role that selects nothing is said to have no rules: to leave them out takes only one's own",
)
.fits_only(gates::CLUSTER_ROLE_AGGREGATION);

defects! {
    /// A mistake in the controller that aggregates ClusterRoles, or the fix of one.
    pub enum AggregationDefect in "controllers that aggregate ClusterRoles" {
        SelectsItself = SELECTS_ITSELF,
        RulesAreAddedTwice = RULES_ARE_ADDED_TWICE,
        RolesWakeThemselves = ROLES_WAKE_THEMSELVES,
        SurplusRulesStay = SURPLUS_RULES_STAY,
        FixApplyNoRules = FIX_APPLY_NO_RULES,
    }
}
