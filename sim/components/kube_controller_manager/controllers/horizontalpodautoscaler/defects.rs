//! Mistakes in the controller of HorizontalPodAutoscalers, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const ZERO_IS_SCALED_UP: Defect = Defect::known(
    "zero-is-scaled-up",
    "k/k#28603, PR #29212 (1.4)",
    "what somebody has scaled to zero is scaled up again",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const AUTOSCALERS_SHARE_PODS: Defect = Defect::known(
    "autoscalers-share-pods",
    "k/k#112027, PR #112011 (1.26)",
    "two autoscalers that select the same pods both scale what they are for",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const SELECTORS_OUTLIVE_AUTOSCALERS: Defect = Defect::known(
    "selectors-outlive-autoscalers",
    "`DeleteSelector` in `deleteHPA`, left out",
    "an autoscaler that is gone still selects its pods, and others leave these alone for ever",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const PERIODS_LOOK_ONE_WAY: Defect = Defect::known(
    "periods-look-one-way",
    "k/k#108354, PR #109058 (1.25)",
    "how many replicas there were when a period of a policy began is counted without what went the other way since",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const WINDOWS_SCALE_UP: Defect = Defect::known(
    "windows-scale-up",
    "k/k#96671, k/k#98174, PR #97348 (1.21)",
    "an autoscaler whose metrics ask for less scales up to what they asked for before",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIRST_SIZE_IS_FORGOTTEN: Defect = Defect::known(
    "first-size-is-forgotten",
    "k/k#68826, PR #68831 (1.12)",
    "the size that something has when the controller first sees it is no recommendation: it is scaled down at once",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FAILED_PODS_ARE_UNREADY: Defect = Defect::known(
    "failed-pods-are-unready",
    "k/k#55630, PR #60648 (1.10)",
    "pods that failed are taken for such as will be ready soon, and nothing is scaled up for them",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const UNREADY_PODS_COUNT: Defect = Defect::known(
    "unready-pods-count",
    "PR #33593 (1.5), PR #66615, PR #68068 (1.12)",
    "what pods use that are not ready is counted as load",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const MISSING_PODS_USE_NOTHING: Defect = Defect::known(
    "missing-pods-use-nothing",
    "what PR #33593 (1.5) assumes, left out",
    "pods of which there is no metric are taken to use nothing also where that lets pods go",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const INVALID_METRICS_ARE_PASSED_OVER: Defect = Defect::known(
    "invalid-metrics-are-passed-over",
    "k/k#99394, PR #99514 (1.21)",
    "something is scaled down although one of its metrics cannot be had",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const AUTOSCALERS_WAKE_THEMSELVES: Defect = Defect::known(
    "autoscalers-wake-themselves",
    "PR #42715 (1.6)",
    "each change of an autoscaler wakes the controller at once, also that of its status",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const MINIMUM_IS_FORGOTTEN: Defect = Defect::known(
    "minimum-is-forgotten",
    "k/k#49028, k/k#51111, PR #48997 (1.8)",
    "an autoscaler scales below its minimum",
)
.ships(Gate::NEVER)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_RESCALE_WHAT_WAS_READ: Defect = Defect::fix(
    "fix-rescale-what-was-read",
    "FINDINGS.md, 59",
    "what somebody else has scaled while an autoscaler was at it is not scaled by what was read before",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_FORGET_GONE_AUTOSCALERS: Defect = Defect::fix(
    "fix-forget-gone-autoscalers",
    "FINDINGS.md, 60",
    "an autoscaler that is made anew begins anew: what one of its name recommended and did counts no more",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_FORGET_OLD_SELECTORS: Defect = Defect::fix(
    "fix-forget-old-selectors",
    "FINDINGS.md, 61",
    "an autoscaler that is for something else now selects the pods of that, also if it is not there or has none",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_SHARED_PODS_STAY: Defect = Defect::fix(
    "fix-shared-pods-stay",
    "FINDINGS.md, 62",
    "autoscalers that select the same pods leave them alone, also outside of their bounds",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_KNOWN_PODS_COUNT: Defect = Defect::fix(
    "fix-known-pods-count",
    "FINDINGS.md, 63",
    "metrics of pods that are not there any more do not count as pods",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_NAME_AUTOSCALERS_IN_ORDER: Defect = Defect::fix(
    "fix-name-autoscalers-in-order",
    "FINDINGS.md, 68",
    "autoscalers that select the same pods are named in the order of their names: a status that says the same is not written again",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

const FIX_KEEP_SCALE_EVENTS: Defect = Defect::fix(
    "fix-keep-scale-events",
    "FINDINGS.md, 69",
    "what was scaled is remembered for as long as the policies of either direction count it",
)
.fits_only(gates::HORIZONTAL_POD_AUTOSCALER_CONTROLLER);

defects! {
    /// A mistake in the controller of HorizontalPodAutoscalers, or the fix of one.
    pub enum HorizontalPodAutoscalerDefect in "controllers of HorizontalPodAutoscalers" {
        ZeroIsScaledUp = ZERO_IS_SCALED_UP,
        AutoscalersSharePods = AUTOSCALERS_SHARE_PODS,
        SelectorsOutliveAutoscalers = SELECTORS_OUTLIVE_AUTOSCALERS,
        PeriodsLookOneWay = PERIODS_LOOK_ONE_WAY,
        WindowsScaleUp = WINDOWS_SCALE_UP,
        FirstSizeIsForgotten = FIRST_SIZE_IS_FORGOTTEN,
        FailedPodsAreUnready = FAILED_PODS_ARE_UNREADY,
        UnreadyPodsCount = UNREADY_PODS_COUNT,
        MissingPodsUseNothing = MISSING_PODS_USE_NOTHING,
        InvalidMetricsArePassedOver = INVALID_METRICS_ARE_PASSED_OVER,
        AutoscalersWakeThemselves = AUTOSCALERS_WAKE_THEMSELVES,
        MinimumIsForgotten = MINIMUM_IS_FORGOTTEN,
        FixRescaleWhatWasRead = FIX_RESCALE_WHAT_WAS_READ,
        FixForgetGoneAutoscalers = FIX_FORGET_GONE_AUTOSCALERS,
        FixForgetOldSelectors = FIX_FORGET_OLD_SELECTORS,
        FixSharedPodsStay = FIX_SHARED_PODS_STAY,
        FixKnownPodsCount = FIX_KNOWN_PODS_COUNT,
        FixNameAutoscalersInOrder = FIX_NAME_AUTOSCALERS_IN_ORDER,
        FixKeepScaleEvents = FIX_KEEP_SCALE_EVENTS,
    }
}
