//! A key of scenario files: the private key with which tokens are signed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::{Mistakes, Part, Section, Spec};

use super::NEEDED;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Options {
    /// The file of the key with which tokens of ServiceAccounts are signed (`--service-account-private-key-file`). Nobody reads it;
    /// without it controller managers have no controller of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_private_key_file: Option<String>,
}

const KEY: &str = "service-account-private-key-file";

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// Finds what is wrong: a key for nobody, or a controller without one, which upstream leaves out with a line in its log.
pub(super) fn check(spec: &Spec, mistakes: &mut Mistakes) {
    let given = spec.part::<Options>().service_account_private_key_file;
    match ((NEEDED.met)(spec), given) {
        (false, Some(_)) => {
            let message = format!("`{KEY}` is for {}", NEEDED.lacking);
            let help = "add `serviceaccount-token-controller` to `controllers`";
            mistakes.key(Section::Options, KEY, message, help);
        }
        (true, None) => {
            let message = "the controller of tokens is disabled because there is no private key";
            let help = format!("add `{KEY}: sa.key` to `options`");
            mistakes.key(Section::Options, "controllers", message, help);
        }
        (true, Some(file)) if file.is_empty() => {
            let message =
                "the controller of tokens is disabled because its private key has no file";
            mistakes.value(Section::Options, KEY, message, "give a name: `sa.key`");
        }
        _ => {}
    }
}
