use std::process::ExitCode;

fn main() -> ExitCode {
    website_operator::command().run()
}
