//! Mistakes in the CronJob controller, and the fixes of findings.

use wavetank_version::{Defect, Gate, defects};

use crate::gates;

const HUNDRED_MISSED_TIMES_END_IT: Defect = Defect::known(
    "hundred-missed-times-end-it",
    "k/k#42649, k/k#45825 (1.21)",
    "a CronJob that has missed more than 100 times of its schedule never runs again",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const EXISTING_JOBS_ARE_NOT_TAKEN_UP: Defect = Defect::known(
    "existing-jobs-are-not-taken-up",
    "k/k#136918, PR #136920 (1.37)",
    "a Job was made, and the status could not say so: it is looked up without its namespace, and the status never says so",
)
.fits_only(gates::CRON_JOB_CONTROLLER)
.until(gates::EXISTING_JOBS_ARE_FOUND);

const MISSED_TIMES_ARE_EVEN: Defect = Defect::known(
    "missed-times-are-even",
    "PR #118724 (1.28)",
    "the times of a schedule are taken to lie as far apart as the next two do: a Job is made for a time that is none of them",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const MISSING_JOBS_STAY_ACTIVE: Defect = Defect::known(
    "missing-jobs-stay-active",
    "k/k#37957 (1.6)",
    "a Job that somebody has deleted stays in the list of those that are active",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const JOBS_ARE_NAMED_AT_RANDOM: Defect = Defect::known(
    "jobs-are-named-at-random",
    "the name in `getJobFromTemplate2`, left to the apiserver",
    "a Job is not called after its time: it is made twice if the status does not say that it was made",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const FORBID_ASKS_THE_CACHE: Defect = Defect::known(
    "forbid-asks-the-cache",
    "`len(cronJob.Status.Active)` of `syncCronJob`, left out",
    "what is forbidden to run at once is what the cache of Jobs shows, not what the status lists",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const STARTING_DEADLINES_ARE_IGNORED: Defect = Defect::known(
    "starting-deadlines-are-ignored",
    "`StartingDeadlineSeconds` in `mostRecentScheduleTime` and `syncCronJob`, left out",
    "a Job is made however late it is",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const RESUMED_SCHEDULES_WAIT: Defect = Defect::known(
    "resumed-schedules-wait",
    "the last line of `updateCronJob`, left out",
    "only a changed schedule wakes the controller: a CronJob that is resumed does nothing",
)
.ships(Gate::NEVER)
.fits_only(gates::CRON_JOB_CONTROLLER);

const FIX_GO_ON_AFTER_FOREIGN_JOBS: Defect = Defect::fix(
    "fix-go-on-after-foreign-jobs",
    "FINDINGS.md, 49",
    "a CronJob whose next Job cannot be made, as one of that name is another's, is looked at again at its next time",
)
.fits_only(gates::CRON_JOB_CONTROLLER);

const FIX_FIND_MISSED_TIMES: Defect = Defect::fix(
    "fix-find-missed-times",
    "FINDINGS.md, 47",
    "the most recent time of a schedule that was missed is found also where the times lie unevenly",
)
.fits_only(gates::CRON_JOB_CONTROLLER);

const FIX_DELAY_FROM_LAST_TIME: Defect = Defect::fix(
    "fix-delay-from-last-time",
    "FINDINGS.md, 48",
    "a CronJob with `@every` counts from its last time, also where its starting deadline is shorter than that delay",
)
.fits_only(gates::CRON_JOB_CONTROLLER);

const FIX_ACTIVE_BY_UID: Defect = Defect::fix(
    "fix-active-by-uid",
    "FINDINGS.md, 50",
    "a Job that is listed as active is gone, if another one has its name by now",
)
.fits_only(gates::CRON_JOB_CONTROLLER);

const FIX_FORGOTTEN_JOBS_ARE_ACTIVE: Defect = Defect::fix(
    "fix-forgotten-jobs-are-active",
    "FINDINGS.md, 90",
    "a Job of a CronJob that has not ended, and that the status does not list as active, is listed before the Job of another time is made",
)
.fits_only(gates::CRON_JOB_CONTROLLER);

defects! {
    /// A mistake in the CronJob controller, or the fix of one.
    pub enum CronJobDefect in "CronJob controllers" {
        HundredMissedTimesEndIt = HUNDRED_MISSED_TIMES_END_IT,
        ExistingJobsAreNotTakenUp = EXISTING_JOBS_ARE_NOT_TAKEN_UP,
        MissedTimesAreEven = MISSED_TIMES_ARE_EVEN,
        MissingJobsStayActive = MISSING_JOBS_STAY_ACTIVE,
        JobsAreNamedAtRandom = JOBS_ARE_NAMED_AT_RANDOM,
        ForbidAsksTheCache = FORBID_ASKS_THE_CACHE,
        StartingDeadlinesAreIgnored = STARTING_DEADLINES_ARE_IGNORED,
        ResumedSchedulesWait = RESUMED_SCHEDULES_WAIT,
        FixGoOnAfterForeignJobs = FIX_GO_ON_AFTER_FOREIGN_JOBS,
        FixFindMissedTimes = FIX_FIND_MISSED_TIMES,
        FixDelayFromLastTime = FIX_DELAY_FROM_LAST_TIME,
        FixActiveByUid = FIX_ACTIVE_BY_UID,
        FixForgottenJobsAreActive = FIX_FORGOTTEN_JOBS_ARE_ACTIVE,
    }
}
