//! Programs as people write them with kube, tokio and others, hosted. One program, since each is linked with all of Wavetank.

mod asks;
mod built_once;
mod programs;
mod replays;
