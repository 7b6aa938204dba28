//! The timed suite on the real server: it must find there what it says, as in the simulated world.

use std::time::Duration;

use wavetank_conform::etcd::Real;
use wavetank_conform::etcd::expiry::cases;
use wavetank_conform::etcd::side::Side as _;
use wavetank_conform::{Program, Ticks};

/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(1);

#[test]
fn leases_end_in_time_on_the_real_server() {
    let Some(program) = Program::for_test() else {
        return;
    };
    std::thread::scope(|scope| {
        for (name, case) in cases::<Real>() {
            let program = program.clone();
            // They mostly wait.
            scope.spawn(move || {
                let mut real = Real::new(program, Ticks::Default).expect("a runtime");
                real.restart().expect("a server");
                if let Err(error) = case(&mut real, SLACK) {
                    panic!("{name}: {error}");
                }
            });
        }
    });
}
