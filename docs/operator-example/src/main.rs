use std::process::ExitCode;

use website_operator::{Editors, WebsiteOperator};

fn main() -> ExitCode {
    wavetank::command()
        .with(WebsiteOperator)
        .with(Editors)
        .run()
}
